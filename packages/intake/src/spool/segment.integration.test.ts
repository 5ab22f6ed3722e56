import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sampleSubmission } from '@leadgate/testkit';
import fc from 'fast-check';
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest';
import { decodePayload, encodeSpooled, Segment, type Stretch } from './segment.ts';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'leadgate-segment-'))));
const made: string[] = [];
afterEach(() => void made.push(folder));
afterAll(() => made.forEach((path) => rmSync(path, { recursive: true, force: true })));

const recordOf = (n: number, body = '{}') =>
  encodeSpooled({ submission: sampleSubmission(n, { body }), reserved: true });

/** As the next process finds the file. */
async function reopen(bytes: Buffer): Promise<Segment> {
  for (const name of readdirSync(folder)) rmSync(join(folder, name));
  writeFileSync(join(folder, '000001.segment'), bytes);
  const [segment] = await Segment.list(folder);
  if (segment === undefined) throw new Error('there is no segment');
  return segment;
}

async function readAll(segment: Segment, limit = 7): Promise<Stretch[]> {
  const all: Stretch[] = [];
  let next: number | undefined = 0;
  while (next !== undefined) {
    const read: { found: Stretch[]; next?: number } = await segment.read(next, limit);
    all.push(...read.found);
    next = read.next;
  }
  return all;
}

const idsOf = (found: Stretch[]) =>
  found.map(({ payload }) => payload && (decodePayload(payload)?.submission.id ?? null));
const idOf = (n: number) => sampleSubmission(n).id;

test('a process killed at any byte of a write loses nothing that was acknowledged, and counts no damage', async () => {
  const acknowledged = Buffer.concat([recordOf(0), recordOf(1)]);
  const group = Buffer.concat([recordOf(2), recordOf(3)]);
  const second = recordOf(2).length;
  for (let cut = 0; cut <= group.length; cut++) {
    const segment = await reopen(Buffer.concat([acknowledged, group.subarray(0, cut)]));
    const whole = cut === group.length ? 4 : cut >= second ? 3 : 2;
    expect(segment.records).toBe(whole);
    expect(idsOf(await readAll(segment))).toEqual([0, 1, 2, 3].slice(0, whole).map(idOf));
  }
}, 60_000);

test('room that a power cut left as zeros at the end is no damage', async () => {
  const found = await readAll(await reopen(Buffer.concat([recordOf(0), Buffer.alloc(9_000)])));
  expect(idsOf(found)).toEqual([idOf(0)]);
});

test('whatever bytes change, each record that they do not touch is read, in order, and the rest is told', async () => {
  await fc.assert(
    fc.asyncProperty(
      // Bodies of a few bytes and of more than a window, and what looks like records in them.
      fc.array(fc.constantFrom('{}', 'LGS1LGS1', 'x'.repeat(40_000), 'x'.repeat(300_000)), {
        minLength: 1,
        maxLength: 12,
      }),
      fc.array(
        fc.record({
          at: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
          bytes: fc.uint8Array({ minLength: 1, maxLength: 600 }),
        }),
        { minLength: 1, maxLength: 5 },
      ),
      fc.integer({ min: 1, max: 20 }),
      async (bodies, harms, limit) => {
        const records = bodies.map((body, n) => recordOf(n, body));
        const before = Buffer.concat(records);
        const after = Buffer.from(before);
        for (const { at, bytes } of harms)
          after.set(
            bytes.slice(0, after.length - Math.floor(at * after.length)),
            Math.floor(at * after.length),
          );
        const untouched: string[] = [];
        let start = 0;
        for (const [n, { length }] of records.entries()) {
          const end = start + length;
          if (before.subarray(start, end).equals(after.subarray(start, end)))
            untouched.push(idOf(n));
          start = end;
        }
        const found = await readAll(await reopen(after), limit);
        expect(idsOf(found).filter((id) => id !== null)).toEqual(untouched);
        const damaged = found.filter(({ payload }) => payload === null);
        expect(damaged.length > 0).toBe(untouched.length < records.length);
        // Every byte is read as a record, or set aside.
        expect(found.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(after.length);
      },
    ),
    { numRuns: 300 },
  );
}, 120_000);

test('a file cut at any byte gives every record before the cut', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 30 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      async (count, part) => {
        const records = Array.from({ length: count }, (_, n) => recordOf(n));
        const bytes = Buffer.concat(records);
        const cut = Math.round(part * bytes.length);
        const found = await readAll(await reopen(bytes.subarray(0, cut)));
        let end = 0;
        const whole = records.filter(({ length }) => (end += length) <= cut).length;
        expect(idsOf(found)).toEqual(Array.from({ length: whole }, (_, n) => idOf(n)));
      },
    ),
  );
});

test('what is kept of a segment is a file of its own, in its place', async () => {
  const segment = await Segment.create(folder, 3);
  await segment.append(Array.from({ length: 20 }, (_, n) => recordOf(n)));
  await segment.complete();
  expect(readdirSync(folder)).toEqual(['000003-20.segment']);
  const offsets = (await readAll(segment)).map(({ offset }) => offset);
  const moved = await segment.keepOnly([offsets[4] ?? 0, offsets[11] ?? 0]);
  expect(readdirSync(folder)).toEqual(['000003-2.segment']);
  expect(idsOf(await readAll(segment))).toEqual([idOf(4), idOf(11)]);
  expect(idsOf((await segment.read(moved[1] ?? 0, 1)).found)).toEqual([idOf(11)]);
  expect(readFileSync(join(folder, '000003-2.segment'))).toHaveLength(segment.size);
});
