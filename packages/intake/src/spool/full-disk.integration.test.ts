import type * as Fs from 'node:fs';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampleSubmission } from '@leadgate/testkit';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { openSpool } from './spool.ts';

const disk = vi.hoisted(() => ({ isFull: false }));
vi.mock('node:fs', async (importOriginal) => {
  const fs = await importOriginal<typeof Fs>();
  const full = (): never => {
    throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  };
  return {
    ...fs,
    writeSync: (...args: Parameters<typeof fs.writeSync>) =>
      disk.isFull ? full() : fs.writeSync(...args),
    writeFileSync: (...args: Parameters<typeof fs.writeFileSync>) =>
      disk.isFull ? full() : fs.writeFileSync(...args),
  };
});

let directory: string;
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'leadgate-spool-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
const spooled = (n: number) => ({ submission: sampleSubmission(n), reserved: true });

test('a full disk refuses records, before LMDB meets it, lets go of those it has, and recovers', async () => {
  const spool = await openSpool(directory, { maxBytes: 2 ** 30, logger });
  expect(await spool.append(spooled(0))).toBe('kept');
  disk.isFull = true;
  let kept = 1;
  await expect(async () => {
    for (;;) {
      await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((i) => spool.append(spooled(kept + i))));
      kept += 8;
    }
  }).rejects.toThrow('ENOSPC');
  expect(kept).toBeLessThan(2_000);
  expect(spool.takesRecords()).toBe(false);
  const [folder] = spool.folders();
  for (;;) {
    const records = folder?.read({ after: 0, limit: 50 }) ?? [];
    if (records.length === 0) break;
    await folder?.remove(records.map(({ sequence }) => sequence));
  }
  expect(spool.status().waiting).toBe(0);
  disk.isFull = false;
  await vi.waitFor(() => expect(spool.takesRecords()).toBe(true), { timeout: 3_000 });
  expect(await spool.append(spooled(1))).toBe('kept');
  await spool.close();
});

test('a disk that is full at the start keeps nobody from starting', async () => {
  disk.isFull = true;
  const spool = await openSpool(directory, { maxBytes: 2 ** 30, logger });
  await vi.waitFor(() => expect(spool.takesRecords()).toBe(false));
  for (let i = 0; i < 3; i++) await expect(spool.append(spooled(1))).rejects.toThrow('ENOSPC');
  expect(readdirSync(directory)).toEqual([]);
  disk.isFull = false;
  expect(await spool.append(spooled(1))).toBe('kept');
  await spool.close();
});
