import { randomUUID } from 'node:crypto';
import { open, rm, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UnreadableInput } from './open-text.ts';

/** A text that can be read a second time. */
export interface KeptText {
  /** The text as it comes in; all of it is kept once this has ended. */
  first: AsyncGenerator<string>;
  again: () => AsyncGenerator<string>;
  close: () => Promise<void>;
}

/**
 * Keeps a text on disk while it is read, to read it again: in a file without a name, which is gone
 * when the process is. Throws an UnreadableInput where there is no place for it.
 */
export async function keepText(chunks: AsyncIterable<string>): Promise<KeptText> {
  const file = await openNameless();
  async function* first(): AsyncGenerator<string> {
    for await (const chunk of chunks) {
      await file.appendFile(chunk).catch(noRoom);
      yield chunk;
    }
  }
  return {
    first: first(),
    again: async function* () {
      const stream = file.createReadStream({ start: 0, encoding: 'utf8', autoClose: false });
      for await (const chunk of stream) yield String(chunk);
    },
    close: () => file.close(),
  };
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
    `Its times ask for reading it twice, and it cannot be kept in ${tmpdir()} meanwhile (${code}). Set TMPDIR to a folder with room.`,
  );
}
