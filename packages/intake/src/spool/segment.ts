import { crc32 } from 'node:zlib';
import { decodeSubmission, encodeSubmission, type Submission } from '@leadgate/contract';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { open, readdir, rename, rm, stat, writeFile, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';

/** A submission that was answered 202 and that Redis does not have, or perhaps does not have. */
export interface SpooledSubmission {
  /**
   * As reserved. If it is not reserved, as if nobody had been known: of the offered lead, which
   * owns every key, and ordered by the receiver's clock.
   */
  submission: Submission;
  reserved: boolean;
  idempotency?: { key: string; bodyHash: string };
}

const PayloadV1 = Type.Object({
  v: Type.Literal(1),
  r: Type.Union([Type.Literal(0), Type.Literal(1)], { description: 'reserved' }),
  k: Type.Optional(
    Type.Tuple([Type.String(), Type.String()], { description: 'idempotency: key, hash of body' }),
  ),
  j: Type.Unknown({ description: 'the submission, as an apply job' }),
});
const compiled = Compile(PayloadV1);

/**
 * A record on disk: this mark, the bytes of the payload, the payload's CRC-32 and the CRC-32 of these
 * twelve bytes (4 bytes each, big-endian), then the payload. The last tells a record whose end was never
 * written from one whose length is damaged. A header is found by its mark in whatever surrounds it, and
 * never in a payload: JSON has no zero byte, and the first byte of a length is zero.
 */
const MARK = Buffer.from('LGS1');
export const HEADER_BYTES = 16;
/** Larger than any lead: a body has at most 64 KiB. */
export const LARGEST_PAYLOAD = 2 ** 20;

/** Throws a RangeError on a payload that would not be read again. */
export function encodeRecord(payload: Buffer): Buffer {
  if (payload.length > LARGEST_PAYLOAD) throw new RangeError('a record of the spool is too large');
  const record = Buffer.allocUnsafe(HEADER_BYTES + payload.length);
  MARK.copy(record);
  record.writeUInt32BE(payload.length, 4);
  record.writeUInt32BE(crc32(payload), 8);
  record.writeUInt32BE(crc32(record.subarray(0, 12)), 12);
  payload.copy(record, HEADER_BYTES);
  return record;
}

/** The bytes of the whole record whose header stands at `at`; null if no undamaged header does. */
export function recordBytes(bytes: Buffer, at: number): number | null {
  if (at + HEADER_BYTES > bytes.length || !bytes.subarray(at, at + 4).equals(MARK)) return null;
  const length = bytes.readUInt32BE(at + 4);
  if (length > LARGEST_PAYLOAD) return null;
  if (crc32(bytes.subarray(at, at + 12)) !== bytes.readUInt32BE(at + 12)) return null;
  return HEADER_BYTES + length;
}

/** The payload of the record at `at`; null if it is not there whole and undamaged. */
export function payloadAt(bytes: Buffer, at: number): Buffer | null {
  const length = recordBytes(bytes, at);
  if (length === null || at + length > bytes.length) return null;
  const payload = bytes.subarray(at + HEADER_BYTES, at + length);
  return crc32(payload) === bytes.readUInt32BE(at + 8) ? payload : null;
}

/** Where the next undamaged header begins, from `at` on; -1 if there is none. */
export function nextRecord(bytes: Buffer, at: number): number {
  let found = bytes.indexOf(MARK, at);
  while (found !== -1 && recordBytes(bytes, found) === null) found = bytes.indexOf(MARK, found + 1);
  return found;
}

/** Throws a RangeError if it is too large. */
export function encodeSpooled({ submission, reserved, idempotency }: SpooledSubmission): Buffer {
  const text = JSON.stringify({
    v: 1,
    r: reserved ? 1 : 0,
    ...(idempotency && { k: [idempotency.key, idempotency.bodyHash] }),
    j: encodeSubmission(submission),
  });
  return encodeRecord(Buffer.from(text));
}

/**
 * The submission of the record that these bytes begin with; null if there is none, or it is damaged,
 * or of an unknown version.
 */
export function decodeSpooled(bytes: Buffer): SpooledSubmission | null {
  const payload = payloadAt(bytes, 0);
  return payload && decodePayload(payload);
}

export function decodePayload(payload: Buffer): SpooledSubmission | null {
  try {
    const value: unknown = JSON.parse(payload.toString());
    if (!compiled.Check(value)) return null;
    return {
      submission: decodeSubmission(value.j),
      reserved: value.r === 1,
      ...(value.k && { idempotency: { key: value.k[0], bodyHash: value.k[1] } }),
    };
  } catch {
    return null;
  }
}

/** A stretch of a segment: a record, or bytes that are none. */
export interface Stretch {
  offset: number;
  bytes: number;
  /** Null if it is damaged. */
  payload: Buffer | null;
}

/** `000001.segment` while it is written, `000001-2874.segment` with its records once it is complete. */
const NAME = /^(\d{6,})(?:-(\d+))?\.segment$/;

/** What a crash left of a segment that was being made smaller. */
export const DRAFT = '.draft';

const paddedTo6 = (number: number): string => number.toString().padStart(6, '0');

/** Read at a time; more only if one record is larger. */
const WINDOW_BYTES = 2 ** 18;
/** Of a record. */
const USUAL_BYTES = 2 ** 12;

/**
 * A file of records, one after the other, written at its end only. What was acknowledged is its first
 * `size` bytes; behind them stands at most what a crash cut off.
 */
export class Segment {
  readonly #folder: string;
  readonly number: number;
  #name: string;
  #size: number;
  #records: number;
  /** Open while it is written to. */
  #file: FileHandle | null;
  #completing: Promise<void> = Promise.resolve();
  #isWriting = false;

  private constructor(
    folder: string,
    state: {
      number: number;
      name: string;
      size: number;
      records: number;
      file: FileHandle | null;
    },
  ) {
    this.#folder = folder;
    this.number = state.number;
    this.#name = state.name;
    this.#size = state.size;
    this.#records = state.records;
    this.#file = state.file;
  }

  /** A new one to write to. */
  static async create(folder: string, number: number): Promise<Segment> {
    const name = `${paddedTo6(number)}.segment`;
    const file = await open(join(folder, name), 'wx', 0o600);
    try {
      // A file is there after a power cut only if its folder says so.
      await syncFolder(folder);
    } catch (error) {
      await file.close();
      await rm(join(folder, name), { force: true });
      throw error;
    }
    return new Segment(folder, { number, name, size: 0, records: 0, file });
  }

  /** Those that a process left behind in a folder, in order. */
  static async list(folder: string): Promise<Segment[]> {
    const segments: Segment[] = [];
    for (const name of await readdir(folder)) {
      const [, number, records] = NAME.exec(name) ?? [];
      if (number === undefined) continue;
      const { size } = await stat(join(folder, name));
      const state = { number: Number(number), name, size, records: Number(records), file: null };
      const segment = new Segment(folder, state);
      if (records === undefined) await segment.#count();
      segments.push(segment);
    }
    return segments.sort((a, b) => a.number - b.number);
  }

  static isOne(name: string): boolean {
    return NAME.test(name);
  }

  get size(): number {
    return this.#size;
  }

  /** As far as is known: those of a damaged one may be fewer. */
  get records(): number {
    return this.#records;
  }

  /** More may be written to it. */
  get isOpen(): boolean {
    return this.#file !== null;
  }

  get isWriting(): boolean {
    return this.#isWriting;
  }

  /**
   * One write and one fdatasync. If it rejects, nothing of these records was acknowledged, and nothing
   * can be written to this segment any more: after a failed sync the kernel takes pages for clean that
   * never reached the disk, so that a second one would say that all is well.
   */
  async append(records: readonly Buffer[]): Promise<void> {
    const file = this.#file;
    if (file === null) throw new Error('the segment is complete');
    const bytes = Buffer.concat(records);
    this.#isWriting = true;
    try {
      await writeAll(file, bytes, this.#size);
      await file.datasync();
      this.#size += bytes.length;
      this.#records += records.length;
    } catch (error) {
      // Gives back a full disk's room; if this fails too, whole records at the end are drained.
      await file.truncate(this.#size).catch(() => undefined);
      await this.complete();
      throw error;
    } finally {
      this.#isWriting = false;
    }
  }

  /** Ends the writing. Never rejects: the name is for the next process, which can do without it. */
  complete(): Promise<void> {
    const file = this.#file;
    this.#file = null;
    if (file !== null) this.#completing = this.#complete(file);
    return this.#completing;
  }

  async #complete(file: FileHandle): Promise<void> {
    const name = this.#name.replace('.', `-${this.#records}.`);
    try {
      await file.close();
      await rename(join(this.#folder, this.#name), join(this.#folder, name));
      this.#name = name;
    } catch {
      // Under its first name its records are counted.
    }
  }

  /**
   * What stands from `offset` on: at most `limit` stretches, and bytes in bounds. `next` is where to go
   * on, undefined at the end. A record whose end is missing, and zeros, are not there: a crash cut them
   * off before they were acknowledged.
   */
  async read(offset: number, limit: number): Promise<{ found: Stretch[]; next?: number }> {
    return this.#reading((file) => readStretches(file, offset, { end: this.#size, limit }));
  }

  /** The bytes of a stretch as they are. */
  async readRaw({ offset, bytes }: Pick<Stretch, 'offset' | 'bytes'>): Promise<Buffer> {
    return this.#reading((file) => readAt(file, offset, bytes));
  }

  /** Keeps only the records at these offsets, in a new file in its place. Returns their new offsets. */
  async keepOnly(offsets: readonly number[]): Promise<number[]> {
    await this.#completing;
    const kept = await this.#reading(async (file) => {
      const records: Buffer[] = [];
      for (const offset of offsets) records.push(await readRecord(file, offset, this.#size));
      return records;
    });
    const number = paddedTo6(this.number);
    const draft = join(this.#folder, `${number}${DRAFT}`);
    const name = `${number}-${kept.length}.segment`;
    const bytes = Buffer.concat(kept);
    try {
      await writeFile(draft, bytes, { mode: 0o600, flush: true });
      await rename(draft, join(this.#folder, name));
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    await syncFolder(this.#folder);
    const before = this.#name;
    this.#name = name;
    this.#size = bytes.length;
    this.#records = kept.length;
    if (name !== before) await rm(join(this.#folder, before), { force: true });
    let at = 0;
    return kept.map(({ length }) => (at += length) - length);
  }

  /** Removes the file. */
  async delete(): Promise<void> {
    await this.complete();
    await rm(join(this.#folder, this.#name), { force: true });
  }

  async #reading<Result>(work: (file: FileHandle) => Promise<Result>): Promise<Result> {
    const file = await this.#open();
    try {
      return await work(file);
    } finally {
      await file.close();
    }
  }

  async #open(): Promise<FileHandle> {
    try {
      return await open(join(this.#folder, this.#name));
    } catch (error) {
      if (!hasCode(error, 'ENOENT')) throw error;
      // It was given its other name just now.
      await this.#completing;
      return open(join(this.#folder, this.#name));
    }
  }

  async #count(): Promise<void> {
    this.#records = 0;
    let next: number | undefined = 0;
    while (next !== undefined) {
      const read: { found: Stretch[]; next?: number } = await this.read(next, 1_000);
      this.#records += read.found.filter(({ payload }) => payload !== null).length;
      next = read.next;
    }
  }
}

async function readStretches(
  file: FileHandle,
  offset: number,
  { end, limit }: { end: number; limit: number },
): Promise<{ found: Stretch[]; next?: number }> {
  let asked = Math.min(WINDOW_BYTES, limit * USUAL_BYTES, end - offset);
  let window = await readAt(file, offset, asked);
  const first = recordBytes(window, 0);
  if (first !== null && first > window.length) {
    asked = Math.min(first, end - offset);
    window = await readAt(file, offset, asked);
  }
  // The file may be shorter than it was.
  const reachesEnd = offset + asked >= end || window.length < asked;
  const found: Stretch[] = [];
  let at = 0;
  while (at < window.length && found.length < limit) {
    const bytes = recordBytes(window, at);
    const payload = payloadAt(window, at);
    const isCut = bytes !== null && at + bytes > window.length;
    if (isCut && !reachesEnd) break;
    if (bytes !== null && payload !== null) {
      found.push({ offset: offset + at, bytes, payload });
      at += bytes;
      continue;
    }
    const following = nextRecord(window, at + 1);
    if (following === -1 && reachesEnd) {
      if (!isCut && !isTorn(window.subarray(at)))
        found.push({ offset: offset + at, bytes: window.length - at, payload: null });
      return { found };
    }
    // The header of the next one may begin in the last bytes.
    const stop = following === -1 ? window.length - HEADER_BYTES : following;
    if (stop <= at) break;
    found.push({ offset: offset + at, bytes: stop - at, payload: null });
    at = stop;
  }
  const next = offset + at;
  return next >= end || window.length === 0 ? { found } : { found, next };
}

/** What is left of a header, or room that was never written. */
function isTorn(end: Buffer): boolean {
  return end.length < HEADER_BYTES || end.every((byte) => byte === 0);
}

async function readRecord(file: FileHandle, offset: number, end: number): Promise<Buffer> {
  const { found } = await readStretches(file, offset, { end, limit: 1 });
  return readAt(file, offset, found[0]?.bytes ?? 0);
}

/** Fewer bytes than asked for only at the end of the file. */
async function readAt(file: FileHandle, offset: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes);
  let read = 0;
  while (read < bytes) {
    const { bytesRead } = await file.read(buffer, read, bytes - read, offset + read);
    if (bytesRead === 0) break;
    read += bytesRead;
  }
  return buffer.subarray(0, read);
}

async function writeAll(file: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  let written = 0;
  while (written < bytes.length) {
    const rest = bytes.length - written;
    written += (await file.write(bytes, written, rest, offset + written)).bytesWritten;
  }
}

export async function syncFolder(folder: string): Promise<void> {
  const file = await open(folder);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === code;
}
