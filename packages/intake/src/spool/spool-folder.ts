import {
  closeSync,
  fstatSync,
  fsyncSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { open, type Database, type PutOptions, type RootDatabase } from 'lmdb';
import type { FolderLock } from './lock-folder.ts';
import { decodeSpooled, encodeSpooled, type SpooledSubmission } from './spooled-submission.ts';

/** A record with its place in the order of arrival. */
export interface SpoolRecord {
  sequence: number;
  /** Null where it is damaged. */
  spooled: SpooledSubmission | null;
}

/** As lmdb has it; its types know the options of `putSync` only. */
interface Records extends Database<Buffer, number> {
  put(id: number, value: Buffer): Promise<boolean>;
  put(id: number, value: Buffer, options: PutOptions | number): Promise<boolean>;
}

/** Address space, not memory or disk: what a folder can grow to whatever its bound says. */
const MAP_BYTES = 2 ** 36;

/**
 * The records of one locked folder, in the order of arrival. Everything written is on disk when its
 * promise resolves: LMDB commits a group of writes at once, syncs its pages (fdatasync) and then
 * writes its root through (O_DSYNC), and only then tells. Bytes are those of the pages in use.
 */
export class SpoolFolder {
  readonly path: string;
  readonly #lock: FolderLock;
  readonly #root: RootDatabase<Buffer, number>;
  readonly #records: Records;
  /** Records whose checksum is wrong, kept for a person to look at. */
  readonly #damaged: Records;
  readonly #dataFile: number;
  #nextSequence: number;
  #arriving = 0;
  #bytes = 0;

  /** Throws where the folder cannot be written, or holds something that is no database. */
  constructor(path: string, lock: FolderLock) {
    this.path = path;
    this.#lock = lock;
    requireRoom(path);
    this.#root = open<Buffer, number>({
      path,
      encoding: 'binary',
      // Otherwise a write is told when others can see it, and is synced later.
      overlappingSync: false,
      // With it a failed commit also rejects a promise that nobody holds, and that ends the process.
      eventTurnBatching: false,
      mapSize: MAP_BYTES,
      maxDbs: 4,
      cache: false,
    });
    this.#records = this.#root.openDB('records', { encoding: 'binary', cache: false });
    this.#damaged = this.#root.openDB('damaged', { encoding: 'binary', cache: false });
    const [last = 0] = this.#records.getKeys({ reverse: true, limit: 1 });
    this.#nextSequence = last + 1;
    this.#count();
    this.#dataFile = openSync(join(path, 'data.mdb'), 'r+');
    // A file is there after a power cut only when its folder says so.
    for (const folder of [path, dirname(path)]) syncFolder(folder);
  }

  get bytes(): number {
    return this.#bytes + this.#arriving;
  }

  /** Nothing is in it, and nothing on its way. */
  get isEmpty(): boolean {
    return this.#arriving === 0 && this.waiting === 0 && this.damaged === 0;
  }

  /** Of the file, which does not become smaller as records go. */
  get fileBytes(): number {
    return fstatSync(this.#dataFile).size;
  }

  get waiting(): number {
    return entryCount(this.#records);
  }

  get damaged(): number {
    return entryCount(this.#damaged);
  }

  /**
   * Adds a record at the end; `full` where that would take more than `room` bytes. Rejects when it
   * could not be written, or nobody can say whether it was.
   */
  async append(spooled: SpooledSubmission, room: number): Promise<'kept' | 'full'> {
    const record = encodeSpooled(spooled);
    const bytes = bytesOnDisk(record.length);
    if (bytes > room) return 'full';
    this.#requireRoom(bytes + 4 * COPIED_BYTES);
    this.#arriving += bytes;
    try {
      // At the end, so that pages are filled and not halved.
      const write = this.#records.put(this.#nextSequence++, record, { append: true });
      await written(write);
    } finally {
      this.#arriving -= bytes;
      this.#count();
    }
    return 'kept';
  }

  /** At most `limit` records with a higher sequence than `after`, in order. */
  read({ after, limit }: { after: number; limit: number }): SpoolRecord[] {
    const range = this.#records.getRange({ start: after + 1, limit });
    return Array.from(range, ({ key, value }) => ({
      sequence: key,
      spooled: decodeSpooled(value),
    }));
  }

  async remove(sequences: readonly number[]): Promise<void> {
    this.#requireRoom(COPIED_BYTES);
    await all(sequences.map((sequence) => written(this.#records.remove(sequence))));
    this.#count();
  }

  async replace(sequence: number, spooled: SpooledSubmission): Promise<void> {
    const record = encodeSpooled(spooled);
    this.#requireRoom(bytesOnDisk(record.length) + COPIED_BYTES);
    await written(this.#records.put(sequence, record));
    this.#count();
  }

  /** Puts a record out of the way as it is. A crash in between leaves it in both places. */
  async setAside(sequence: number): Promise<void> {
    const record = this.#records.get(sequence);
    this.#requireRoom(bytesOnDisk(record?.length ?? 0) + COPIED_BYTES);
    if (record !== undefined) await written(this.#damaged.put(sequence, record));
    await this.remove([sequence]);
  }

  /** Resolves when something could be written to the disk. */
  async probe(): Promise<void> {
    this.#requireRoom(4 * COPIED_BYTES);
    await written(this.#root.put(0, Buffer.alloc(1)));
  }

  /** Waits for what is being written. A folder with nothing left in it is removed, unless `keep`. */
  async close({ keep = false } = {}): Promise<void> {
    await this.#root.committed;
    const { isEmpty } = this;
    await this.#root.close();
    closeSync(this.#dataFile);
    if (isEmpty && !keep) rmSync(this.path, { recursive: true, force: true });
    this.#lock.release();
  }

  /**
   * Throws where the disk has no room for what LMDB is about to write: on a full disk LMDB corrupts
   * its own memory, and the process. So the file is made longer, by bytes that the disk has to give,
   * before LMDB comes to need them. What removing takes is always left.
   */
  #requireRoom(bytes: number): void {
    const { lastPageNumber } = this.#root.getStats() as { lastPageNumber: number };
    const end = (lastPageNumber + 1) * PAGE_BYTES + this.#arriving + bytes;
    let { size } = fstatSync(this.#dataFile);
    while (size < end) size += writeSync(this.#dataFile, ZEROS, 0, ZEROS.length, size);
  }

  #count(): void {
    this.#bytes = usedBytes(this.#records) + usedBytes(this.#damaged);
  }
}

/** Waits for all of them, then rejects where one did. */
async function all(writes: Promise<void>[]): Promise<void> {
  const outcomes = await Promise.allSettled(writes);
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** LMDB tells that a write did not happen by rejecting, or by resolving to false. */
async function written(write: Promise<boolean>): Promise<void> {
  let cause: unknown;
  try {
    if (await write) return;
  } catch (error) {
    cause = await causeOf(error);
  }
  throw new Error('the spool could not be written', { cause });
}

/**
 * The reason of a failed commit is a promise on its error, which nobody else handles: unhandled, it
 * would end the process (lmdb-js issue 368).
 */
async function causeOf(error: unknown): Promise<unknown> {
  try {
    return await (error instanceof Error ? Reflect.get(error, 'commitError') : undefined);
  } catch (reason) {
    return reason;
  }
}

interface Stats {
  pageSize: number;
  entryCount: number;
  treeBranchPageCount: number;
  treeLeafPageCount: number;
  overflowPages: number;
}

/** Its type says only that it is an object. */
const statsOf = (records: Records): Stats => records.getStats() as Stats;

const entryCount = (records: Records): number => statsOf(records).entryCount;

function usedBytes(records: Records): number {
  const { pageSize, treeBranchPageCount, treeLeafPageCount, overflowPages } = statsOf(records);
  return pageSize * (treeBranchPageCount + treeLeafPageCount + overflowPages);
}

const PAGE_BYTES = 4_096;

/** More than the pages that one group of changes copies. */
const COPIED_BYTES = 2 ** 18;
const ZEROS = Buffer.alloc(2 ** 18);

/**
 * As many as fit share a page; a record of more than half a page has pages of its own. A page in a
 * hundred leads to the others.
 */
function bytesOnDisk(recordBytes: number): number {
  const withHeader = recordBytes + 24;
  const pages =
    withHeader <= PAGE_BYTES / 2
      ? 1 / Math.floor((PAGE_BYTES - 16) / withHeader)
      : Math.ceil(withHeader / PAGE_BYTES);
  return Math.ceil(1.01 * PAGE_BYTES * pages);
}

/** For the first pages, which LMDB writes when it opens. Throws where the disk is full. */
function requireRoom(folder: string): void {
  const path = join(folder, 'room');
  try {
    writeFileSync(path, ZEROS);
  } finally {
    rmSync(path, { force: true });
  }
}

function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
