import { appendFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CaptureLink } from '@leadgate/contract';
import { sampleLink } from '@leadgate/testkit';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openLinkSnapshot } from './link-snapshot.ts';

let directory: string;
let path: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'leadgate-links-'));
  path = join(directory, 'below', 'links.ndjson');
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const error = vi.fn();
const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined, error };

const link = (linkId: string, more: Partial<CaptureLink> = {}): CaptureLink =>
  sampleLink({ linkId, workspaceId: 'w', ...more });

test('the next process remembers what was saved, a closed link as closed', async () => {
  const entries: [string, CaptureLink][] = [
    ['a', link('1')],
    ['b', link('2', { state: 'disabled' })],
  ];
  const snapshot = await openLinkSnapshot(path, { logger });
  expect([snapshot.size, snapshot.has('a')]).toEqual([0, false]);
  snapshot.save(() => entries);
  await vi.waitFor(() => expect(snapshot.has('a')).toBe(true), { timeout: 3_000 });
  const next = await openLinkSnapshot(path, { logger });
  expect([...next.remembered]).toEqual(entries);
  expect([next.size, next.has('b'), next.has('c')]).toEqual([2, true, false]);
});

test('a stop writes what was due, and leaves nothing beside the file', async () => {
  const snapshot = await openLinkSnapshot(path, { logger });
  for (let n = 0; n < 1_200; n++) snapshot.save(() => [['a', link(`${n}`)]]);
  await snapshot.close();
  expect((await openLinkSnapshot(path, { logger })).has('a')).toBe(true);
  expect(readdirSync(join(directory, 'below'))).toEqual(['links.ndjson']);
});

test('a code is not on disk before it is', async () => {
  const snapshot = await openLinkSnapshot(path, { logger });
  snapshot.save(() => [['a', link('1')]]);
  expect(snapshot.has('a')).toBe(false);
  await snapshot.close();
  expect(snapshot.has('a')).toBe(true);
});

test('a damaged line costs its link alone, a damaged file all of them, and both are told', async () => {
  const snapshot = await openLinkSnapshot(path, { logger });
  snapshot.save(() => [['a', link('1')]]);
  await snapshot.close();
  appendFileSync(path, '["b",{"linkId":"2"}]\n["c"');
  expect((await openLinkSnapshot(path, { logger })).size).toBe(1);
  expect(error).toHaveBeenLastCalledWith({ damaged: 2 }, expect.any(String));
  writeFileSync(path, '\0\0\0\0');
  expect((await openLinkSnapshot(path, { logger })).size).toBe(0);
  expect(error).toHaveBeenCalledTimes(2);
});
