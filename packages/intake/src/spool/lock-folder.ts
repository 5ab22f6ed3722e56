// The package has no types of its own, and whoever compiles this file needs them.
// eslint-disable-next-line @typescript-eslint/triple-slash-reference
/// <reference path="./fs-native-extensions.d.ts" />
import { closeSync, fstatSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { tryLock } from 'fs-native-extensions';

/** A folder that no other process may use. */
export interface FolderLock {
  release(): void;
}

const LOCK_FILE = 'lock';

/**
 * Locks a folder for this process: null where another one holds it, or it is gone. A lock of the
 * kernel on the file's inode, so it ends with the process, however that ends, and holds between
 * containers that share a volume, whose process ids say nothing to each other.
 */
export function lockFolder(folder: string): FolderLock | null {
  const path = join(folder, LOCK_FILE);
  const fd = openUnlessGone(path);
  if (fd === null) return null;
  if (!tryLock(fd) || !isStill(fd, path)) {
    closeSync(fd);
    return null;
  }
  return { release: () => closeSync(fd) };
}

function openUnlessGone(path: string): number | null {
  try {
    return openSync(path, 'a+', 0o600);
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
}

/** Whoever held the lock before may have removed the folder between our opening and our locking. */
function isStill(fd: number, path: string): boolean {
  try {
    const [locked, found] = [fstatSync(fd), statSync(path)];
    return locked.ino === found.ino && locked.dev === found.dev;
  } catch (error) {
    if (isGone(error)) return false;
    throw error;
  }
}

function isGone(error: unknown): boolean {
  return error instanceof Error && Reflect.get(error, 'code') === 'ENOENT';
}
