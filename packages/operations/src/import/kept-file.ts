import { randomUUID } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBreathing } from '../pace.ts';
import { UnreadableInput } from './open-input.ts';

/** A text that can be read a second time. */
export interface KeptText {
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
