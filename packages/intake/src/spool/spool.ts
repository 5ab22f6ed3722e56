import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../log.ts';
import { makeSpoolFolder, openSpoolFolder } from './open-folder.ts';
import type { SpoolFolder } from './spool-folder.ts';
import type { SpooledSubmission } from './spooled-submission.ts';

export interface SpoolStatus {
  /** Records that wait for Redis, with those of adopted folders. */
  waiting: number;
  /** On disk, of the bound. */
  bytes: number;
  maxBytes: number;
  /** Records that were set aside. */
  damaged: number;
  /** Folders that could not be opened, or were damaged and are kept for a person to look at. */
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
  /** Whether a record would be taken now, as far as is known. Tries the disk where it failed. */
  takesRecords(): boolean;
  /** Adopts folders whose process is gone. */
  adopt(): Promise<void>;
  /** All that may hold records, those left behind by others first. */
  folders(): readonly SpoolFolder[];
  /** Removes folders that were drained: those of others, and its own where its file is large. */
  dropDrained(): Promise<void>;
  /** Waits for what is being written, and unlocks. Folders without a record are removed. */
  close(): Promise<void>;
}

const FOLDER = /^spool-[0-9a-f-]{36}$/;
const DAMAGED_FOLDER = /^damaged-spool-/;
const PROBE_EVERY_MS = 1_000;

/** The folders of processes below `directory`, whoever holds them. Throws where there is none. */
export function spoolFolders(directory: string): string[] {
  return foldersLike(directory, FOLDER);
}

function foldersLike(directory: string, name: RegExp): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && name.test(entry.name))
    .map((entry) => join(directory, entry.name));
}

/**
 * Makes a folder of its own below `directory` for this process, locks it, and adopts those whose
 * process is gone. `maxBytes` bounds all of them together; what is adopted is kept in any case. A
 * disk that cannot be written now is tried again with every record.
 */
export async function openSpool(
  directory: string,
  { maxBytes, logger }: { maxBytes: number; logger: Log },
): Promise<Spool> {
  const spool = new ProcessSpool({ directory, maxBytes, logger });
  await spool.adopt();
  spool.probe();
  return spool;
}

class ProcessSpool implements Spool {
  readonly #directory: string;
  readonly #maxBytes: number;
  readonly #logger: Log;
  #own: SpoolFolder | null = null;
  #adopted: SpoolFolder[] = [];
  readonly #unreadable = new Set<string>();
  #failing = false;
  #probedAt = 0;

  constructor(options: { directory: string; maxBytes: number; logger: Log }) {
    this.#directory = options.directory;
    this.#maxBytes = options.maxBytes;
    this.#logger = options.logger;
  }

  async append(spooled: SpooledSubmission): Promise<'kept' | 'full'> {
    try {
      const outcome = await this.#ownFolder().append(spooled, this.#maxBytes - this.#bytes());
      this.#failing = false;
      return outcome;
    } catch (error) {
      this.#failing = true;
      throw error;
    }
  }

  status(): SpoolStatus {
    const folders = this.folders();
    return {
      waiting: sum(folders.map(({ waiting }) => waiting)),
      bytes: this.#bytes(),
      maxBytes: this.#maxBytes,
      damaged: sum(folders.map(({ damaged }) => damaged)),
      setAside: [...this.#unreadable, ...this.#damagedFolders()],
    };
  }

  takesRecords(): boolean {
    if (this.#failing) this.probe();
    return !this.#failing && this.#maxBytes - this.#bytes() >= ROOM_FOR_A_LEAD;
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
    if (own?.isEmpty === true && (this.#failing || own.fileBytes > LARGE_FILE)) {
      this.#adopted.push(own);
      this.#own = null;
    }
    const drained = this.#adopted.filter(({ isEmpty }) => isEmpty);
    this.#adopted = this.#adopted.filter((folder) => !drained.includes(folder));
    for (const folder of drained) await folder.close();
  }

  async close(): Promise<void> {
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
    await this.#ownFolder().probe();
  }

  #ownFolder(): SpoolFolder {
    return (this.#own ??= makeSpoolFolder(this.#directory));
  }

  #bytes(): number {
    return sum(this.folders().map(({ bytes }) => bytes));
  }

  #damagedFolders(): string[] {
    try {
      return foldersLike(this.#directory, DAMAGED_FOLDER);
    } catch {
      return [];
    }
  }

  async #open(path: string): Promise<SpoolFolder | null> {
    try {
      const opening = await openSpoolFolder(path);
      this.#unreadable.delete(path);
      if (opening.kind === 'in-use' || opening.kind === 'no-spool') return null;
      const { waiting, damaged } = opening.folder;
      if (opening.kind === 'opened')
        this.#logger.info({ path, waiting, damaged }, 'adopted a spool folder left behind');
      else {
        const { records, damagedPath } = opening;
        this.#logger.error(
          { path: damagedPath, records },
          'a spool folder left behind is damaged; what is whole in it was salvaged',
        );
      }
      return opening.folder;
    } catch (err) {
      if (!this.#unreadable.has(path))
        this.#logger.error({ err, path }, 'a spool folder left behind cannot be opened');
      this.#unreadable.add(path);
      return null;
    }
  }
}

/** Its free pages may not fit what comes next, and the disk may be needed by others. */
const LARGE_FILE = 2 ** 24;

/** A body may have 64 KiB, and its record somewhat more. */
const ROOM_FOR_A_LEAD = 2 ** 17;

const sum = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0);
