import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** A folder that no other process may use. */
export interface FolderLock {
  release(): Promise<void>;
}

/** This system has nothing that locks a file: no start mends that. */
export class CannotLock extends Error {
  override readonly name = 'CannotLock';
}

export const LOCK_FILE = 'lock';

/**
 * Locks a folder for this process: null if another one holds it, or it is gone. The lock is flock(2),
 * on a description of the lock file that only this process has: the kernel ends it with the process,
 * however that ends, and it holds between containers that share a volume, whose process ids mean nothing
 * to each other. The text in the file, who took it, is for people. Rejects with CannotLock on a system
 * without the program flock.
 */
export async function lockFolder(folder: string): Promise<FolderLock | null> {
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

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === code;
}
