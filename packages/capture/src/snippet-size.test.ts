import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { buildSnippet } from '../test/build-snippet.ts';

test('the snippet is a small thing to ask of a phone on a bad network: at most 4 KB', async () => {
  const snippet = await buildSnippet();
  expect(gzipSync(snippet, { level: 9 }).byteLength).toBeLessThanOrEqual(4 * 1024);
});

test('the snippet is one classic script that evaluates no text', async () => {
  const snippet = await buildSnippet();
  expect(snippet).toMatch(/^\(function\(\)\{/);
  expect(snippet).not.toMatch(/\beval\b|new Function|innerHTML|\bimport\b/);
});
