import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, existsSync, readdirSync } from 'node:fs';
import {
  open,
  stat,
  type FileHandle,
  mkdir,
  readdir,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { groupCalls } from '@leadgate/boot';
import {
  decodePayload,
  encodeRecord,
  encodeSpooled,
  LARGEST_PAYLOAD,
  type SpooledSubmission,
  DRAFT,
  Segment,
  syncFolder,
  hasCode,
} from './segment.ts';
import { SpoolReader } from './reader.ts';

/** A folder that no other process may use. */
interface FolderLock {
  release(): Promise<void>;
}

/** This system has nothing that locks a file: no start mends that. */
export class CannotLock extends Error {
  override readonly name = 'CannotLock';
}

const LOCK_FILE = 'lock';

/**
 * Locks a folder for this process: null if another one holds it, or it is gone. The lock is flock(2),
 * on a description of the lock file that only this process has: the kernel ends it with the process,
 * however that ends, and it holds between containers that share a volume, whose process ids mean nothing
 * to each other. The text in the file, who took it, is for people. Rejects with CannotLock on a system
 * without the program flock.
 */
async function lockFolder(folder: string): Promise<FolderLock | null> {
  const path = join(folder, LOCK_FILE);
  const file = await openUnlessRefused(path);
  if (file === null) return null;
  try {
    if ((await tryLock(file)) && (await isStill(file, path))) {
      await file.truncate();
      await file.write(`process ${process.pid} on ${hostname()}, ${new Date().toISOString()}\n`);
      return { release: () => file.close() };
    }
  } catch (error) {
    await file.close();
    throw error;
  }
  await file.close();
  return null;
}

/** As libuv has it (UV_FS_O_EXLOCK): on macOS a file is opened and locked in one step. */
const O_EXLOCK = process.platform === 'darwin' ? 0x20 : 0;

async function openUnlessRefused(path: string): Promise<FileHandle | null> {
  const { O_RDWR, O_CREAT, O_APPEND, O_NONBLOCK } = constants;
  try {
    return await open(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_EXLOCK, 0o600);
  } catch (error) {
    if (hasCode(error, 'ENOENT') || (O_EXLOCK !== 0 && hasCode(error, 'EAGAIN'))) return null;
    throw error;
  }
}

/**
 * Node has no flock. The program (util-linux, BusyBox) locks the description that it inherits from here,
 * and ends; the lock stays with the description.
 */
async function tryLock(file: FileHandle): Promise<boolean> {
  if (O_EXLOCK !== 0) return true;
  const program = spawn('flock', ['-n', '3'], { stdio: ['ignore', 'ignore', 'ignore', file.fd] });
  let ended: unknown[];
  try {
    ended = await once(program, 'close');
  } catch (error) {
    if (hasCode(error, 'ENOENT'))
      throw new CannotLock('the program flock (util-linux or BusyBox) is not installed');
    throw error;
  }
  const [status] = ended;
  if (status === 0 || status === 1) return status === 0;
  throw new Error(`flock ended with ${String(status)}`);
}

/** The process that held the lock before may have removed the folder between our opening and locking. */
async function isStill(file: FileHandle, path: string): Promise<boolean> {
  try {
    const [locked, found] = await Promise.all([file.stat(), stat(path)]);
    return locked.ino === found.ino && locked.dev === found.dev;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

const FOLDER = /^spool-[0-9a-f-]{36}$/;

/** The folders of processes below `directory`, whoever holds them. Throws if there is no directory. */
export function spoolFolders(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && FOLDER.test(entry.name))
    .map((entry) => join(directory, entry.name));
}

export function isSpoolFolder(path: string): boolean {
  return existsSync(join(path, LOCK_FILE));
}

/** A segment is deleted as a whole: a small one sooner. */
const SEGMENT_BYTES = 2 ** 22;

/** What may wait in memory for a disk that does not answer. */
const MOST_ARRIVING_BYTES = 2 ** 25;

/** Of damaged records, a segment each: they are kept for a person to look at. */
const DAMAGED_FOLDER = 'damaged';

/**
 * The records of one locked folder, in the order of arrival: segments, of which the last is written to.
 * Writes that come while one is under way are the next group. Bytes are those of the files.
 */
export class SpoolFolder {
  readonly path: string;
  /** Hands the records out, and deletes what is drained. */
  readonly reader: SpoolReader;
  readonly #lock: FolderLock;
  readonly #segmentBytes: number;
  readonly #segments: Segment[];
  readonly #damaged: Segment[];
  #active: Segment | null = null;
  #lastNumber: number;
  #arriving = 0;
  readonly #pending = new Set<Promise<unknown>>();
  readonly #write = groupCalls((records: Buffer[]) => this.#writeGroup(records), {
    name: 'spool',
    maxSize: Infinity,
  });

  private constructor(
    path: string,
    lock: FolderLock,
    state: { segments: Segment[]; damaged: Segment[]; segmentBytes: number },
  ) {
    this.path = path;
    this.#lock = lock;
    this.#segments = state.segments;
    this.#damaged = state.damaged;
    this.#segmentBytes = state.segmentBytes;
    this.#lastNumber = Math.max(
      0,
      ...[...state.segments, ...state.damaged].map(({ number }) => number),
    );
    this.reader = new SpoolReader(this.#segments, {
      retire: (segment) => this.#retire(segment),
      drop: (segment) => this.#drop(segment),
      setAside: (bytes) => this.#setAside(bytes),
    });
  }

  /** Makes and locks a new folder below `directory`. Rejects if it cannot be written. */
  static async make(directory: string, maxBytes: number): Promise<SpoolFolder> {
    const id = randomUUID();
    // Under another name until it is locked, so that no process takes it for one left behind.
    const hidden = join(directory, `new-${id}`);
    const path = join(directory, `spool-${id}`);
    let lock: FolderLock | null = null;
    try {
      await mkdir(hidden, { recursive: true, mode: 0o700 });
      lock = await lockFolder(hidden);
      if (lock === null) throw new Error('the new folder of the spool cannot be locked');
      await rename(hidden, path);
      await syncFolder(directory);
    } catch (error) {
      for (const made of [hidden, path]) await rm(made, { recursive: true, force: true });
      await lock?.release();
      throw error;
    }
    const segmentBytes = Math.min(SEGMENT_BYTES, Math.ceil(maxBytes / 8));
    return new SpoolFolder(path, lock, { segments: [], damaged: [], segmentBytes });
  }

  /**
   * Opens a folder that its process left behind, and keeps every other process out of it until it is
   * closed. Reads what that process was writing last, and of the rest the names. `in-use`: its process
   * runs and drains it, or it is gone. Rejects if it cannot be opened, or holds what is no spool.
   */
  static async open(path: string): Promise<SpoolFolder | 'in-use'> {
    if (!existsSync(path)) return 'in-use';
    const lock = await lockFolder(path);
    if (lock === null) return 'in-use';
    try {
      const names = await readdir(path);
      const foreign = names.find((name) => !isOurs(name));
      if (foreign !== undefined)
        throw new Error(`the folder holds ${foreign}, which is no spool's`);
      const segments = await Segment.list(path);
      const damaged = names.includes(DAMAGED_FOLDER)
        ? await Segment.list(join(path, DAMAGED_FOLDER))
        : [];
      return new SpoolFolder(path, lock, { segments, damaged, segmentBytes: SEGMENT_BYTES });
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /** Of all segments, and of what is being written. */
  get bytes(): number {
    return sum([...this.#segments, ...this.#damaged].map(({ size }) => size)) + this.#arriving;
  }

  /** Records that are not drained. */
  get waiting(): number {
    return this.reader.left;
  }

  get damaged(): number {
    return sum(this.#damaged.map(({ records }) => records)) + this.reader.damagedInPlace;
  }

  /** Nothing in it is for Redis, or could be. */
  get isDrained(): boolean {
    return this.#segments.length === 0;
  }

  /** Nothing is in it, and nothing on its way. */
  get isEmpty(): boolean {
    return this.#arriving === 0 && this.isDrained && this.damaged === 0;
  }

  /**
   * Adds a record at the end; `full` if that would take more than `room` bytes, or too much waits for the
   * disk. Rejects when it could not be written; then it may stand all the same.
   */
  async append(spooled: SpooledSubmission, room: number): Promise<'kept' | 'full'> {
    const record = encodeSpooled(spooled);
    if (record.length > room || this.#arriving > MOST_ARRIVING_BYTES) return 'full';
    this.#arriving += record.length;
    const written = this.#write(record);
    this.#pending.add(written);
    try {
      await written;
      return 'kept';
    } finally {
      this.#pending.delete(written);
      this.#arriving -= record.length;
    }
  }

  /** All records that are not drained, in order, as they are on disk; null for a damaged one. */
  async *records(): AsyncGenerator<SpooledSubmission | null> {
    for (const segment of [...this.#segments])
      for (let next: number | undefined = 0; next !== undefined;) {
        const read: Awaited<ReturnType<Segment['read']>> = await segment.read(next, 1_000);
        for (const { payload } of read.found) yield payload && decodePayload(payload);
        next = read.next;
      }
  }

  /** Resolves when something could be written to the disk. */
  async probe(): Promise<void> {
    const path = join(this.path, `probe${DRAFT}`);
    try {
      await writeFile(path, Buffer.alloc(LARGEST_PAYLOAD), { flush: true });
    } finally {
      await rm(path, { force: true });
    }
  }

  /** Waits for what is being written. A folder with nothing left in it is removed, unless `keep`. */
  async close({ keep = false } = {}): Promise<void> {
    await Promise.allSettled(this.#pending);
    for (const segment of [...this.#segments, ...this.#damaged]) await segment.complete();
    if (this.isEmpty && !keep) await rm(this.path, { recursive: true, force: true });
    await this.#lock.release();
  }

  async #writeGroup(records: readonly Buffer[]): Promise<undefined[]> {
    const segment = (this.#active ??= await this.#addSegment());
    try {
      await segment.append(records);
    } catch (error) {
      this.#active = null;
      if (segment.size === 0) await this.#drop(segment);
      throw error;
    }
    if (segment.size >= this.#segmentBytes) this.#retire(segment);
    return records.map(() => undefined);
  }

  async #addSegment(): Promise<Segment> {
    // Above those of all before, so that their order is the order of their names.
    const segment = await Segment.create(this.path, ++this.#lastNumber);
    this.#segments.push(segment);
    return segment;
  }

  async #drop(segment: Segment): Promise<void> {
    const at = this.#segments.indexOf(segment);
    if (at !== -1) this.#segments.splice(at, 1);
    await segment.delete().catch(() => undefined);
  }

  /** False if something is being written to it. */
  #retire(segment: Segment): boolean {
    if (segment !== this.#active || segment.isWriting) return false;
    this.#active = null;
    void segment.complete();
    return true;
  }

  async #setAside(bytes: Buffer): Promise<void> {
    const folder = join(this.path, DAMAGED_FOLDER);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await syncFolder(this.path);
    const segment = await Segment.create(folder, ++this.#lastNumber);
    try {
      await segment.append([encodeRecord(bytes)]);
    } catch (error) {
      await segment.delete();
      throw error;
    }
    await segment.complete();
    this.#damaged.push(segment);
  }
}

function isOurs(name: string): boolean {
  return (
    name === LOCK_FILE || name === DAMAGED_FOLDER || name.endsWith(DRAFT) || Segment.isOne(name)
  );
}

const sum = (numbers: readonly number[]): number => numbers.reduce((a, b) => a + b, 0);
