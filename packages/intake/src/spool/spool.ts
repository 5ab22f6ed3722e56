import type { Log } from '@leadgate/boot';
import { SpoolFolder, spoolFolders, CannotLock } from './folder.ts';
import type { SpooledSubmission } from './segment.ts';

export interface SpoolStatus {
  /** Records that wait for Redis, with those of adopted folders. */
  waiting: number;
  /** On disk, of the bound. */
  bytes: number;
  maxBytes: number;
  /** Records that were set aside. */
  damaged: number;
  /** Folders that could not be opened. */
  setAside: string[];
}

/** Where a receiver makes submissions durable while Redis cannot. */
export interface Spool {
  /**
   * On disk when it resolves to `kept`. `full`: it does not fit into the bound. Rejects when the disk
   * fails; then it may stand all the same.
   */
  append(spooled: SpooledSubmission): Promise<'kept' | 'full'>;
  status(): SpoolStatus;
  /** Whether a record would be taken now, as far as is known. Tries the disk if it failed. */
  takesRecords(): boolean;
  /** Adopts folders whose process is gone. */
  adopt(): Promise<void>;
  /** All that may hold records, those left behind by others first. */
  folders(): readonly SpoolFolder[];
  /** Removes folders of others that were drained, and its own if it could not be written. */
  dropDrained(): Promise<void>;
  /**
   * Waits for what is being written, and unlocks. Folders without a record are removed. What is appended from now
   * on is rejected.
   */
  close(): Promise<void>;
}

const PROBE_EVERY_MS = 1_000;

/**
 * Makes a folder of its own below `directory` for this process, locks it, and adopts those whose
 * process is gone. `maxBytes` bounds all of them together; what is adopted is kept in any case. Of that,
 * only names are read here. A disk that cannot be written now is tried again with every record. Rejects
 * with CannotLock on a system that cannot lock files.
 */
export async function openSpool(
  directory: string,
  { maxBytes, logger }: { maxBytes: number; logger: Log },
): Promise<Spool> {
  const spool = new ProcessSpool({ directory, maxBytes, logger });
  await spool.adopt();
  await spool.makeOwn();
  return spool;
}

class ProcessSpool implements Spool {
  readonly #directory: string;
  readonly #maxBytes: number;
  readonly #logger: Log;
  #own: SpoolFolder | null = null;
  #making: Promise<SpoolFolder> | null = null;
  #adopted: SpoolFolder[] = [];
  readonly #unreadable = new Set<string>();
  #failing = false;
  #closing = false;
  #probedAt = 0;

  constructor(options: { directory: string; maxBytes: number; logger: Log }) {
    this.#directory = options.directory;
    this.#maxBytes = options.maxBytes;
    this.#logger = options.logger;
  }

  async append(spooled: SpooledSubmission): Promise<'kept' | 'full'> {
    try {
      const outcome = await this.#append(spooled);
      this.#failing = false;
      return outcome;
    } catch (error) {
      this.#failing = true;
      throw error;
    }
  }

  async #append(spooled: SpooledSubmission): Promise<'kept' | 'full'> {
    const own = this.#own ?? (await this.#makeOwn());
    // A folder that is closed may be removed, with what comes late to it.
    if (this.#closing) throw new Error('the spool is closed');
    return own.append(spooled, this.#maxBytes - this.#bytes());
  }

  status(): SpoolStatus {
    const folders = this.folders();
    return {
      waiting: sum(folders.map(({ waiting }) => waiting)),
      bytes: this.#bytes(),
      maxBytes: this.#maxBytes,
      damaged: sum(folders.map(({ damaged }) => damaged)),
      setAside: [...this.#unreadable],
    };
  }

  takesRecords(): boolean {
    if (this.#failing) this.probe();
    return !this.#closing && !this.#failing && this.#maxBytes - this.#bytes() >= ROOM_FOR_A_LEAD;
  }

  async adopt(): Promise<void> {
    const mine = new Set(this.folders().map(({ path }) => path));
    for (const path of spoolFolders(this.#directory)) {
      if (mine.has(path)) continue;
      const folder = await this.#open(path);
      if (folder !== null) this.#adopted.push(folder);
    }
  }

  folders(): readonly SpoolFolder[] {
    return this.#own === null ? this.#adopted : [...this.#adopted, this.#own];
  }

  async dropDrained(): Promise<void> {
    const own = this.#own;
    if (own?.isEmpty === true && this.#failing) {
      this.#adopted.push(own);
      this.#own = null;
    }
    const drained = this.#adopted.filter(({ isEmpty }) => isEmpty);
    this.#adopted = this.#adopted.filter((folder) => !drained.includes(folder));
    for (const folder of drained) await folder.close();
  }

  async close(): Promise<void> {
    this.#closing = true;
    await this.#making?.catch(() => undefined);
    for (const folder of this.folders()) await folder.close();
  }

  /** Finds out, at most once a second, whether the disk can be written. */
  probe(): void {
    if (Date.now() - this.#probedAt < PROBE_EVERY_MS) return;
    this.#probedAt = Date.now();
    this.#tryDisk().then(
      () => void (this.#failing = false),
      (err: unknown) => {
        if (!this.#failing) this.#logger.error({ err }, 'the spool cannot be written');
        this.#failing = true;
      },
    );
  }

  async #tryDisk(): Promise<void> {
    await (this.#own ?? (await this.#makeOwn())).probe();
  }

  /** A disk that cannot be written is no reason not to start. */
  async makeOwn(): Promise<void> {
    try {
      await this.#makeOwn();
    } catch (err) {
      if (err instanceof CannotLock) throw err;
      this.#failing = true;
      this.#logger.error({ err }, 'the spool cannot be written');
    }
  }

  #makeOwn(): Promise<SpoolFolder> {
    this.#making ??= SpoolFolder.make(this.#directory, this.#maxBytes)
      .then((folder) => (this.#own = folder))
      .finally(() => (this.#making = null));
    return this.#making;
  }

  #bytes(): number {
    return sum(this.folders().map(({ bytes }) => bytes));
  }

  async #open(path: string): Promise<SpoolFolder | null> {
    try {
      const folder = await SpoolFolder.open(path);
      this.#unreadable.delete(path);
      if (folder === 'in-use') return null;
      const { waiting, damaged } = folder;
      this.#logger.info({ path, waiting, damaged }, 'adopted a spool folder left behind');
      return folder;
    } catch (err) {
      if (err instanceof CannotLock) throw err;
      if (!this.#unreadable.has(path))
        this.#logger.error({ err, path }, 'a spool folder left behind cannot be opened');
      this.#unreadable.add(path);
      return null;
    }
  }
}

/** A body may have 64 KiB, and its record somewhat more. */
const ROOM_FOR_A_LEAD = 2 ** 17;

const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0);
