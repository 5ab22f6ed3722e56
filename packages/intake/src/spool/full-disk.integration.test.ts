import type * as Fs from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { open as openFile } from 'node:fs/promises';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { sampleSubmission } from '@leadgate/testkit';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type DrainIntake, drainFolder } from './drain.ts';
import { openSpool, type Spool } from './spool.ts';

/** What the disk does to those who write to a file: their other calls are the real ones. */
const disk = vi.hoisted(() => ({
  /** Bytes that it still takes. */
  room: Infinity,
  syncFails: false,
  /** Calls of fdatasync, by file. */
  syncs: [] as string[],
}));

vi.mock('node:fs/promises', async (importOriginal) => {
  const fs = await importOriginal<typeof Fs>();
  const failed = (code: string) => Object.assign(new Error(`${code}: of the test`), { code });
  const open: typeof fs.open = async (path, ...rest) => {
    const file = await fs.open(path, ...rest);
    const real = { write: file.write.bind(file), datasync: file.datasync.bind(file) };
    const changed: Pick<FileHandle, 'datasync'> & { write: unknown } = {
      write: async (bytes: Buffer | string, at = 0, length = bytes.length, position?: number) => {
        const taken = Math.min(length, disk.room);
        if (taken === 0) throw failed('ENOSPC');
        disk.room -= taken;
        return real.write(Buffer.from(bytes as string), at, taken, position);
      },
      datasync: async () => {
        disk.syncs.push(basename(String(path)));
        if (disk.syncFails) throw failed('EIO');
        await real.datasync();
      },
    };
    return Object.assign(file, changed);
  };
  const writeFile: typeof fs.writeFile = (...args) =>
    disk.room === 0 ? Promise.reject(failed('ENOSPC')) : fs.writeFile(...args);
  return { ...fs, open, writeFile };
});

let directory: string;
let spool: Spool | undefined;
beforeEach(() => {
  Object.assign(disk, { room: Infinity, syncFails: false, syncs: [] });
  directory = mkdtempSync(join(tmpdir(), 'leadgate-spool-'));
});
afterEach(async () => {
  await spool?.close();
  rmSync(directory, { recursive: true, force: true });
});

const logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const spooled = (n: number) => ({ submission: sampleSubmission(n), reserved: true });
const open = async () => (spool = await openSpool(directory, { maxBytes: 2 ** 30, logger }));

/** Drains everything into a list of submission ids. */
async function drain(from: Spool): Promise<string[]> {
  const ids: string[] = [];
  const intake: DrainIntake = {
    reserver: {
      reserve: () => Promise.reject(new Error('nothing has to be reserved')),
      isRemoved: () => Promise.resolve(false),
    },
    producer: { enqueue: ({ id }) => Promise.resolve(void ids.push(id)) },
  };
  for (const folder of from.folders()) await drainFolder(folder, intake, { rate: 1_000_000 });
  return ids;
}
const idOf = (n: number) => sampleSubmission(n).id;

const segments = () =>
  readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.segment'),
  );

test('a full disk refuses records, lets go of those it has, and recovers', async () => {
  const spool = await open();
  expect(await spool.append(spooled(0))).toBe('kept');
  // Some of a record still goes to the disk.
  disk.room = 5_000;
  let kept = 1;
  await expect(async () => {
    for (;;) {
      await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((i) => spool.append(spooled(kept + i))));
      kept += 8;
    }
  }).rejects.toThrow('ENOSPC');
  expect(kept).toBeLessThan(2_000);
  for (let i = 0; i < 50; i++) await expect(spool.append(spooled(1))).rejects.toThrow('ENOSPC');
  // Refused ones leave nothing behind that would be one file each.
  expect(segments()).toHaveLength(1);
  expect(spool.takesRecords()).toBe(false);
  expect(spool.status().waiting).toBe(kept);
  expect(await drain(spool)).toHaveLength(kept);
  expect(spool.status().waiting).toBe(0);
  disk.room = Infinity;
  await vi.waitFor(() => expect(spool.takesRecords()).toBe(true), { timeout: 3_000 });
  expect(await spool.append(spooled(1))).toBe('kept');
});

test('a disk that is full at the start keeps nobody from starting', async () => {
  disk.room = 0;
  const spool = await open();
  await vi.waitFor(() => expect(spool.takesRecords()).toBe(false));
  for (let i = 0; i < 3; i++) await expect(spool.append(spooled(1))).rejects.toThrow('ENOSPC');
  expect(readdirSync(directory)).toEqual([]);
  disk.room = Infinity;
  expect(await spool.append(spooled(1))).toBe('kept');
});

test('on a full disk damage stays where it is, and what stands behind it is drained', async () => {
  const before = await open();
  await before.append(spooled(0));
  await before.append(spooled(1));
  await before.close();
  const [segment = ''] = segments();
  const file = await openFile(join(directory, segment), 'r+');
  await file.write(Buffer.from('x'), 0, 1, 100);
  await file.close();
  const spool = await open();
  disk.room = 0;
  expect(await drain(spool)).toEqual([idOf(1)]);
  expect(spool.status()).toMatchObject({ waiting: 0, damaged: 1 });
  expect(segments()).toEqual([segment]);
  await spool.close();
  disk.room = Infinity;
  // The next process finds it, and sets it aside; what was drained is drained again, which is a no-op.
  expect(await drain(await open())).toEqual([idOf(1)]);
  expect(segments()).toEqual([expect.stringContaining('damaged')]);
});

test('a sync that failed is final: its file is never synced again, and its posts are refused', async () => {
  const spool = await open();
  expect(await spool.append(spooled(0))).toBe('kept');
  const [first] = disk.syncs;
  disk.syncFails = true;
  const group = [1, 2, 3].map((n) => spool.append(spooled(n)));
  for (const { status } of await Promise.allSettled(group)) expect(status).toBe('rejected');
  expect(spool.takesRecords()).toBe(false);
  disk.syncFails = false;
  expect(await spool.append(spooled(4))).toBe('kept');
  expect(disk.syncs).toEqual([first, first, expect.not.stringContaining(first ?? '')]);
  // What was acknowledged before is in the file whose sync failed later, and is not lost.
  expect(await drain(spool)).toEqual([idOf(0), idOf(4)]);
  expect(spool.status()).toMatchObject({ waiting: 0, damaged: 0 });
});

test('many posts at once are few groups: one write and one sync each', async () => {
  const spool = await open();
  await Promise.all(Array.from({ length: 500 }, (_, n) => spool.append(spooled(n))));
  expect(disk.syncs.length).toBeLessThan(5);
  expect(await drain(spool)).toHaveLength(500);
});
