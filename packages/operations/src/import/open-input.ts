import { randomUUID } from 'node:crypto';
import { type FileHandle, open, rm } from 'node:fs/promises';
import iconv from 'iconv-lite';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { createBreathing } from '../pace.ts';

/** The input cannot be read at all. The message is a sentence for whoever hands it in. */
export class UnreadableInput extends Error {
  override readonly name = 'UnreadableInput';
}

export type Input =
  /** `encoding`: as found until now. */
  | { kind: 'text'; chunks: AsyncGenerator<string>; encoding: () => string }
  /** A zip, as Excel files are: what it holds is listed at its end. */
  | { kind: 'zip'; bytes: AsyncGenerator<Buffer> };

/**
 * A file's text, piece by piece in constant memory: unpacked if it is gzip, and decoded. A byte
 * order mark decides the encoding, else `encoding`, else it is UTF-8, or windows-1252 if the first
 * letter beyond ASCII is no UTF-8. A wrong byte is an UnreadableInput and not a question mark in
 * somebody's name. `onBytes` is told how many bytes were read of the file.
 */
export async function openInput(
  source: Readable,
  { encoding, onBytes }: { encoding?: string; onBytes?: (bytes: number) => void } = {},
): Promise<Input> {
  // A guard of its type would leave nothing to name in the message.
  const isKnown: boolean = encoding === undefined || iconv.encodingExists(encoding);
  if (!isKnown)
    throw new UnreadableInput(
      `There is no encoding "${encoding}"; windows-1252, iso-8859-1 and utf-16le are some.`,
    );
  const bytes = countBytes(source, onBytes)[Symbol.asyncIterator]();
  const first = await firstBytes(bytes);
  const begins = (...start: number[]) => start.every((byte, i) => first[i] === byte);
  if (begins(0xd0, 0xcf, 0x11, 0xe0)) throw new UnreadableInput(OLD_EXCEL);
  if (/^<[!?a-z]/i.test(first.toString('latin1').replace('\xef\xbb\xbf', '')))
    throw new UnreadableInput(HTML);
  if (begins(0x50, 0x4b)) return { kind: 'zip', bytes: joined(first, bytes) };
  const raw = begins(0x1f, 0x8b) ? gunzip(first, bytes) : joined(first, bytes);
  let found = 'utf-8';
  const chunks = decode(raw, encoding, (name) => (found = name));
  return { kind: 'text', chunks, encoding: () => found };
}

const OLD_EXCEL =
  'It is an Excel file of before 2007 (xls), or has a password. In the program that opens it, save it as xlsx without one, and import that.';

const HTML =
  'It is HTML or XML, whatever its name says. Open it in a spreadsheet program, save it as xlsx or CSV, and import that.';

async function* countBytes(
  source: Readable,
  onBytes: ((bytes: number) => void) | undefined,
): AsyncGenerator<Buffer> {
  let read = 0;
  for await (const chunk of source as AsyncIterable<Buffer | string>) {
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    read += bytes.length;
    onBytes?.(read);
    yield bytes;
  }
}

/** Enough to tell a byte order mark or gzip by. */
async function firstBytes(chunks: AsyncIterator<Buffer>): Promise<Buffer> {
  let first: Buffer = Buffer.alloc(0);
  while (first.length < 4) {
    const next = await chunks.next();
    if (next.done === true) break;
    first = Buffer.concat([first, next.value]);
  }
  return first;
}

async function* joined(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (first.length > 0) yield first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

async function* gunzip(first: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  const unpacked = createGunzip();
  const feeding = pipeline(joined(first, rest), unpacked);
  // What it rejects with is thrown by the reading too, unless that was stopped.
  feeding.catch(() => undefined);
  try {
    for await (const chunk of unpacked as AsyncIterable<Buffer>) yield chunk;
    await feeding;
  } catch (error) {
    if (error instanceof UnreadableInput) throw error;
    throw new UnreadableInput('The gzip file is damaged or cut off.');
  }
}

async function* decode(
  bytes: AsyncGenerator<Buffer>,
  encoding: string | undefined,
  onFound: (encoding: string) => void,
): AsyncGenerator<string> {
  let first: Buffer = Buffer.alloc(0);
  for (let next = await bytes.next(); next.done !== true; next = await bytes.next()) {
    first = Buffer.concat([first, next.value]);
    if (first.length >= TELLING_BYTES) break;
  }
  const decoder = decoderOf(first, encoding, onFound);
  const pieces = [decoder.write(first)];
  let length = 0;
  // Not in smaller pieces than these: each is looked at together with what is left of the one before.
  for await (const chunk of bytes) {
    const text = decoder.write(chunk);
    pieces.push(text);
    length += text.length;
    if (length < PIECE) continue;
    yield pieces.join('');
    pieces.length = length = 0;
  }
  yield pieces.join('') + decoder.end();
}

const PIECE = 32 * 1024;
const TELLING_BYTES = 512;

interface Decoder {
  write: (bytes: Buffer) => string;
  end: () => string;
}

function decoderOf(
  first: Buffer,
  encoding: string | undefined,
  onFound: (encoding: string) => void,
): Decoder {
  const said = markedEncoding(first) ?? encoding;
  const name = said ?? unmarkedUtf16(first);
  if (name === undefined || /^utf-?8$/i.test(name)) return utf8Or1252(said === undefined, onFound);
  onFound(name);
  const decoder = iconv.getDecoder(name, { stripBOM: true });
  return { write: (bytes) => decoder.write(bytes), end: () => decoder.end() ?? '' };
}

function markedEncoding(first: Buffer): string | null {
  if (first[0] === 0xef && first[1] === 0xbb && first[2] === 0xbf) return 'utf8';
  if (first[0] === 0xff && first[1] === 0xfe) return 'utf-16le';
  if (first[0] === 0xfe && first[1] === 0xff) return 'utf-16be';
  return null;
}

/** In UTF-16 every other byte of a Latin letter is zero; no other text has any. */
function unmarkedUtf16(first: Buffer): string | undefined {
  let [even, odd] = [0, 0];
  for (let at = 0; at + 1 < first.length; at += 2) {
    if (first[at] === 0) even += 1;
    if (first[at + 1] === 0) odd += 1;
  }
  const half = first.length / 4;
  if (even < half && odd < half) return undefined;
  return odd >= even ? 'utf-16le' : 'utf-16be';
}

const NOT_UTF8 =
  'It is not UTF-8: say what it is with --encoding (files of Excel are often windows-1252).';

/** UTF-8; or, if nothing says that it is, windows-1252 from the first byte on that only this can be. */
function utf8Or1252(isUnsaid: boolean, onFound: (encoding: string) => void): Decoder {
  const utf8 = new TextDecoder('utf-8', { fatal: true });
  const single = iconv.getDecoder('windows-1252');
  let tail: Buffer = Buffer.alloc(0);
  let decided: 'utf-8' | 'windows-1252' | null = isUnsaid ? null : 'utf-8';
  const run = (bytes: Buffer): string => {
    if (decided !== 'windows-1252')
      try {
        const text = utf8.decode(bytes);
        if (text.length !== bytes.length) decided = 'utf-8';
        return text;
      } catch {
        if (decided !== null || !is1252(bytes)) throw new UnreadableInput(NOT_UTF8);
        decided = 'windows-1252';
        onFound(decided);
      }
    if (UNUSED_IN_1252.test(bytes.toString('latin1'))) throw new UnreadableInput(NOT_UTF8);
    return single.write(bytes);
  };
  return {
    write: (bytes) => {
      const all = tail.length === 0 ? bytes : Buffer.concat([tail, bytes]);
      const end = all.length - (decided === 'windows-1252' ? 0 : unfinished(all));
      tail = all.subarray(end);
      return run(all.subarray(0, end));
    },
    end: () => run(tail),
  };
}

/** Whether the first letter beyond ASCII is no UTF-8. */
function is1252(bytes: Buffer): boolean {
  const first = /\P{ASCII}/u.exec(bytes.toString('utf8'));
  return first?.[0] === '\ufffd';
}

const UNUSED_IN_1252 = /[\u0081\u008d\u008f\u0090\u009d]/;

/** Bytes at the end that may begin a letter whose rest is still to come. */
function unfinished(bytes: Buffer): number {
  for (let count = 1; count <= 3 && count <= bytes.length; count += 1) {
    const byte = bytes[bytes.length - count] ?? 0;
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return count < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? count : 0;
  }
  return 0;
}

/** A text that can be read a second time. */
interface KeptText {
  /** The text as it comes in. */
  first: AsyncGenerator<string>;
  /** Whether it is kept, all that has come in of it as well. Until this is said it stays in memory. */
  keep: (isNeeded: boolean) => Promise<void>;
  /** All of it, if it was kept and read to its end. */
  again: () => AsyncGenerator<string>;
  close: () => Promise<void>;
}

/**
 * Keeps a text on disk while it is read, to read it again: in a file without a name, which is gone
 * when the process is. Gives way between pieces, as not every piece has a row whose reader would. Throws an UnreadableInput if there is no place for it.
 */
export function keepText(chunks: AsyncIterable<string>): KeptText {
  let undecided: string[] | null = [];
  let file: FileHandle | null = null;
  const breathe = createBreathing();
  async function* first(): AsyncGenerator<string> {
    for await (const chunk of chunks) {
      undecided?.push(chunk);
      await file?.appendFile(chunk).catch(noRoom);
      await breathe();
      yield chunk;
    }
  }
  return {
    first: first(),
    keep: async (isNeeded) => {
      if (isNeeded) {
        file = await openNameless();
        await file.appendFile(undecided?.join('') ?? '').catch(noRoom);
      }
      undecided = null;
    },
    again: async function* () {
      if (file === null) throw new Error('a text is read again that was not kept');
      const stream = file.createReadStream({ start: 0, encoding: 'utf8', autoClose: false });
      for await (const chunk of stream) {
        await breathe();
        yield String(chunk);
      }
    },
    close: async () => file?.close(),
  };
}

/** Bytes of an archive: a sheet of a million rows has a tenth of it. */
const LARGEST_ARCHIVE = 2 ** 30;

/** All bytes in a file without a name, as `keepText`, for what is not read from its beginning on. */
export async function keepBytes(chunks: AsyncIterable<Buffer>): Promise<FileHandle> {
  const file = await openNameless();
  try {
    let length = 0;
    for await (const chunk of chunks) {
      length += chunk.length;
      if (length > LARGEST_ARCHIVE) throw new UnreadableInput('It is larger than 1 GiB.');
      await file.appendFile(chunk).catch(noRoom);
    }
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

async function openNameless(): Promise<FileHandle> {
  const path = join(tmpdir(), `leadgate-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600).catch(noRoom);
  await rm(path, { force: true });
  return file;
}

function noRoom(error: unknown): never {
  const code = String(Reflect.get(Object(error), 'code'));
  throw new UnreadableInput(
    `It has to be read twice, and cannot be kept in ${tmpdir()} meanwhile (${code}). Set TMPDIR to a folder with room.`,
  );
}
