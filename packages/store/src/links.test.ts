import { expect, test } from 'vitest';
import { captureCode } from './links.ts';

test('a code is URL-safe, survives a command line and a chat, and never repeats', () => {
  const codes = Array.from({ length: 2_000 }, captureCode);
  for (const code of codes) expect(code).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{20}[A-Za-z0-9]$/);
  expect(new Set(codes).size).toBe(codes.length);
});
