import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { readCaptureLink, type CaptureLink } from '@leadgate/contract';
import type { Log } from '@leadgate/boot';

type Entries = Iterable<[code: string, link: CaptureLink]>;

/** The link directory as it was kept on disk. */
export interface LinkSnapshot {
  /** Whether a code is on disk: a process that starts without Redis would know it. */
  has(code: string): boolean;
  readonly size: number;
  /** As read at the start, for the directory to begin with. */
  readonly remembered: ReadonlyMap<string, CaptureLink>;
  /** Writes the directory soon; calls until then are one write. */
  save(entries: () => Entries): void;
  /** Waits for the write that is under way or due. */
  close(): Promise<void>;
}

const SAVE_AFTER_MS = 500;
const RETRY_AFTER_MS = 5_000;
/** Lines of one write: a large directory must not hold up the event loop. */
const LINES_PER_WRITE = 500;

/**
 * Opens the copy of the link directory in a file: a line `{"v":1}`, and then a line `["code",{…}]`
 * for each link. It is replaced as a whole (written beside, synced, renamed), so a crash leaves the
 * one before. A file that is not there, or not of this version, is an empty directory.
 */
export async function openLinkSnapshot(
  path: string,
  { logger }: { logger: Log },
): Promise<LinkSnapshot> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const remembered = await readSnapshot(path, logger);
  return new Snapshot(path, remembered, logger);
}

class Snapshot implements LinkSnapshot {
  readonly remembered: ReadonlyMap<string, CaptureLink>;
  readonly #path: string;
  readonly #logger: Log;
  #codes: ReadonlySet<string>;
  #due: { entries: () => Entries; timer: NodeJS.Timeout } | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(path: string, remembered: ReadonlyMap<string, CaptureLink>, logger: Log) {
    this.#path = path;
    this.remembered = remembered;
    this.#codes = new Set(remembered.keys());
    this.#logger = logger;
  }

  has(code: string): boolean {
    return this.#codes.has(code);
  }

  get size(): number {
    return this.#codes.size;
  }

  save(entries: () => Entries): void {
    this.#plan(entries, SAVE_AFTER_MS);
  }

  async close(): Promise<void> {
    if (this.#due !== null) this.#write();
    await this.#writing;
    if (this.#due !== null) clearTimeout(this.#due.timer);
  }

  #plan(entries: () => Entries, afterMs: number): void {
    if (this.#due !== null) return;
    this.#due = { entries, timer: setTimeout(() => this.#write(), afterMs).unref() };
  }

  #write(): void {
    if (this.#due === null) return;
    const { entries, timer } = this.#due;
    clearTimeout(timer);
    this.#due = null;
    this.#writing = this.#writing.then(async () => {
      try {
        const held = [...entries()];
        await writeSnapshot(this.#path, held);
        this.#codes = new Set(held.map(([code]) => code));
      } catch (err) {
        this.#logger.warn({ err }, 'the link directory could not be kept on disk');
        this.#plan(entries, RETRY_AFTER_MS);
      }
    });
  }
}

const HEADER = { v: 1 };

async function writeSnapshot(path: string, entries: readonly [string, CaptureLink][]) {
  const beside = join(dirname(path), `new-${randomUUID()}`);
  const file = await open(beside, 'wx', 0o600);
  try {
    await file.appendFile(`${JSON.stringify(HEADER)}\n`);
    for (let i = 0; i < entries.length; i += LINES_PER_WRITE) {
      const lines = entries.slice(i, i + LINES_PER_WRITE);
      await file.appendFile(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    }
    await file.sync();
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  await syncFolder(dirname(path));
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function readSnapshot(path: string, logger: Log): Promise<Map<string, CaptureLink>> {
  const remembered = new Map<string, CaptureLink>();
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && Reflect.get(error, 'code') === 'ENOENT') return remembered;
    throw error;
  }
  const [header, ...lines] = text.trimEnd().split('\n');
  if (header !== JSON.stringify(HEADER)) {
    logger.error({}, 'the link directory kept on disk cannot be read');
    return remembered;
  }
  let damaged = 0;
  for (const line of lines) {
    const entry = readLine(line);
    if (entry === null) damaged += 1;
    else remembered.set(...entry);
  }
  if (damaged > 0) logger.error({ damaged }, 'links kept on disk cannot be read');
  return remembered;
}

function readLine(line: string): [string, CaptureLink] | null {
  try {
    const [code, value] = JSON.parse(line) as unknown[];
    const link = readCaptureLink(JSON.stringify(value));
    return typeof code === 'string' && link !== null ? [code, link] : null;
  } catch {
    return null;
  }
}
