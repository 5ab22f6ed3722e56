import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampleSubmission } from '@leadgate/testkit';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Log } from '@leadgate/boot';
import { type DrainIntake, drainFolder } from './drain.ts';
import { spoolFolders } from './folder.ts';
import { openSpool, type Spool } from './spool.ts';
import type { SpooledSubmission } from './segment.ts';

const MAX_BYTES = 2 ** 24;

let directory: string;
let closes: (() => Promise<void> | void)[];
let log: Log & { lines: string[] };

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'leadgate-spool-'));
  closes = [() => rmSync(directory, { recursive: true, force: true })];
  const lines: string[] = [];
  const write = (_fields: object, message: string) => void lines.push(message);
  log = { lines, debug: write, info: write, warn: write, error: write };
});
afterEach(async () => {
  for (let close = closes.pop(); close; close = closes.pop()) await close();
});

async function open(maxBytes = MAX_BYTES): Promise<Spool> {
  const spool = await openSpool(directory, { maxBytes, logger: log });
  closes.push(() => spool.close().catch(() => undefined));
  return spool;
}

/** As reserved, so that draining them asks for nothing. */
const spooled = (n: number, change = {}): SpooledSubmission => ({
  submission: sampleSubmission(n, change),
  reserved: true,
});

const keep = (spool: Spool, count: number, from = 0) =>
  Promise.all(Array.from({ length: count }, (_, i) => spool.append(spooled(from + i))));

/** One after the other: a group each. */
async function keepEach(spool: Spool, count: number) {
  const outcomes: ('kept' | 'full')[] = [];
  for (let n = 0; n < count; n++) outcomes.push(await spool.append(spooled(n)));
  return outcomes;
}

/** Drains everything into a list of submission ids. */
async function drain(spool: Spool): Promise<string[]> {
  const ids: string[] = [];
  const intake: DrainIntake = {
    reserver: {
      reserve: () => Promise.reject(new Error('nothing has to be reserved')),
      isRemoved: () => Promise.resolve(false),
    },
    producer: { enqueue: ({ id }) => Promise.resolve(void ids.push(id)) },
  };
  for (const folder of spool.folders()) await drainFolder(folder, intake, { rate: 1_000_000 });
  await spool.dropDrained();
  return ids;
}

test('what comes while it closes is refused, with and without a record before it, and what was kept stays', async () => {
  for (const before of [0, 3]) {
    const spool = await open();
    await keep(spool, before);
    const closing = spool.close();
    await expect(spool.append(spooled(9))).rejects.toThrow('closed');
    await closing;
    await expect(spool.append(spooled(9))).rejects.toThrow('closed');
    expect(spool.takesRecords()).toBe(false);
    const next = await open();
    expect(next.status().waiting).toBe(before);
    expect(await drain(next)).toHaveLength(before);
  }
});

const idsOf = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => sampleSubmission(from + i).id);

const folders = () => readdirSync(directory).filter((name) => name.includes('spool-'));

describe('what was kept', () => {
  test('comes out in the order it went in, once', async () => {
    const spool = await open();
    expect(new Set(await keep(spool, 500))).toEqual(new Set(['kept']));
    expect(spool.status()).toMatchObject({ waiting: 500, damaged: 0, setAside: [] });
    expect(await drain(spool)).toEqual(idsOf(500));
    expect(await drain(spool)).toEqual([]);
    expect(spool.status().waiting).toBe(0);
  });

  test('is adopted by the next process, before what that one keeps, and its folder then goes', async () => {
    const first = await open();
    await keep(first, 3);
    await first.close();
    const second = await open();
    await keep(second, 2, 3);
    expect(second.status().waiting).toBe(5);
    expect(await drain(second)).toEqual(idsOf(5));
    expect(folders()).toHaveLength(1);
    await second.close();
    expect(folders()).toEqual([]);
  });

  test('of several processes that are gone is adopted by one of those that start together', async () => {
    for (let n = 0; n < 3; n++) {
      const spool = await openSpool(directory, { maxBytes: MAX_BYTES, logger: log });
      await keep(spool, 1, n);
      await spool.close();
    }
    const spools = await Promise.all([open(), open()]);
    const drained = await Promise.all(spools.map(drain));
    expect(drained.flat().sort()).toEqual(idsOf(3));
  });

  test('stays within its bytes, and there is room again once it is drained', async () => {
    const spool = await open(2 ** 20);
    const outcomes = await keep(spool, 3_000);
    const kept = outcomes.filter((outcome) => outcome === 'kept').length;
    expect(kept).toBeGreaterThan(500);
    expect(kept).toBeLessThan(3_000);
    expect(spool.status().bytes).toBeLessThanOrEqual(2 ** 20);
    expect(spool.takesRecords()).toBe(false);
    expect(await drain(spool)).toHaveLength(kept);
    expect(spool.takesRecords()).toBe(true);
    expect(await spool.append(spooled(1))).toBe('kept');
  });

  test('of the largest body fits', async () => {
    const spool = await open();
    const large = spooled(1, { body: JSON.stringify({ name: 'ã'.repeat(30_000) }) });
    expect(await spool.append(large)).toBe('kept');
    expect((await spool.folders()[0]?.records().next())?.value).toEqual(large);
  });
});

describe('a folder in use', () => {
  test('by this process is not opened a second time', async () => {
    const first = await open();
    await keep(first, 1);
    const second = await open();
    expect(second.status().waiting).toBe(0);
    expect(await drain(second)).toEqual([]);
    expect(await drain(first)).toEqual(idsOf(1));
  });

  test('by another process is adopted as soon as that is killed, and no sooner', async () => {
    const first = await open();
    await keep(first, 2);
    await first.close();
    const [folder = ''] = spoolFolders(directory);
    const holder = await holdLock(folder);
    const second = await open();
    await second.adopt();
    expect(second.status().waiting).toBe(0);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await second.adopt();
    expect(await drain(second)).toEqual(idsOf(2));
  });
});

/** Another process that locks a folder as a receiver does. */
async function holdLock(folder: string): Promise<ChildProcess> {
  const lock = join(folder, 'lock');
  // Without another process between: whoever is killed here holds the lock.
  const child = spawn('flock', ['--nonblock', '--no-fork', lock, 'sh', '-c', 'echo; exec cat'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  closes.push(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

describe('damage', () => {
  /** The segment that a process left behind with records 0 to 49. */
  async function leftBehind(): Promise<string> {
    const spool = await open();
    await keep(spool, 50);
    await spool.close();
    const [folder = ''] = spoolFolders(directory);
    const [segment = ''] = readdirSync(folder).filter((name) => name.endsWith('.segment'));
    return join(folder, segment);
  }

  test('of a record sets that record aside, holds back no other, and is told', async () => {
    const file = await leftBehind();
    change(file, (bytes, at) => bytes.write('x', at));
    const spool = await open();
    const rest = idsOf(50).filter((id) => id !== sampleSubmission(20).id);
    expect(await drain(spool)).toEqual(rest);
    expect(spool.status()).toMatchObject({ waiting: 0, damaged: 1 });
    await spool.close();
    // Kept for a person to look at, and found again by the next process.
    expect((await open()).status().damaged).toBe(1);
  });

  test.each([
    ['that was cut', (file: string) => truncateSync(file, 40_000), 0],
    ['whose first pages are gone', (file: string) => overwrite(file, 0, 8_192), 1],
    ['whose last bytes are others', (file: string) => overwrite(file, -3, 3), 1],
    [
      'a page of which is gone',
      (file: string) => change(file, (bytes, at) => bytes.fill(0, at - (at % 4_096), at)),
      1,
    ],
  ])('to a segment (%s) ends no process, and what is whole is drained', async (_, harm, count) => {
    const file = await leftBehind();
    harm(file);
    const spool = await open();
    const drained = await drain(spool);
    expect(drained.length).toBeGreaterThan(30);
    expect(idsOf(50)).toEqual(expect.arrayContaining(drained));
    expect(spool.status()).toMatchObject({ waiting: 0, damaged: count });
    expect(await spool.append(spooled(1))).toBe('kept');
  });

  test('in one segment is no reason to lose what another has', async () => {
    const first = await open(2 ** 17);
    const outcomes = await keepEach(first, 120);
    await first.close();
    const [folder = ''] = spoolFolders(directory);
    const [segment = '', ...others] = readdirSync(folder).filter((name) => /segment$/.test(name));
    expect(others.length).toBeGreaterThan(2);
    const file = join(folder, segment);
    writeFileSync(file, readFileSync(file).fill(7));
    const spool = await open();
    const drained = await drain(spool);
    const kept = outcomes.filter((outcome) => outcome === 'kept').length;
    expect(drained).toEqual(idsOf(drained.length, kept - drained.length));
    expect(drained.length).toBeGreaterThan(kept / 2);
    expect(spool.status()).toMatchObject({ waiting: 0, damaged: 1 });
  });

  /** Changes record 20. */
  function change(file: string, harm: (bytes: Buffer, at: number) => void): void {
    const bytes = readFileSync(file);
    harm(bytes, bytes.indexOf(sampleSubmission(20).id));
    writeFileSync(file, bytes);
  }

  /** Zeros before the end are written as others: zeros at the end were never written. */
  function overwrite(file: string, at: number, length: number): void {
    const bytes = readFileSync(file);
    const start = at < 0 ? bytes.length + at : at;
    bytes.fill(at < 0 ? 7 : 0, start, start + length);
    writeFileSync(file, bytes);
  }
});

test('a folder that cannot be opened is told, and keeps nobody from starting', async () => {
  const first = await open();
  await keep(first, 1);
  await first.close();
  const [folder = ''] = spoolFolders(directory);
  rmSync(join(folder, 'lock'));
  // A folder where a file should be.
  mkdirSync(join(folder, 'lock'));
  const spool = await open();
  expect(await spool.append(spooled(2))).toBe('kept');
  expect(spool.status().setAside).toEqual([folder]);
});
