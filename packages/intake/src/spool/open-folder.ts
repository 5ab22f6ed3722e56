import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { lockFolder, type FolderLock } from './lock-folder.ts';
import { isReadable, salvageRecords } from './salvage.ts';
import { SpoolFolder } from './spool-folder.ts';

export type FolderOpening =
  | { kind: 'opened'; folder: SpoolFolder }
  /**
   * Its database is damaged. What is whole in it stands in the folder given, a new one; the damaged
   * one is kept as it is under the name given, for a person to look at.
   */
  | { kind: 'salvaged'; folder: SpoolFolder; records: number; damagedPath: string }
  /** Its process runs, and drains it; or it is gone. */
  | { kind: 'in-use' }
  | { kind: 'no-spool' };

/**
 * Opens a spool folder that its process left behind, and keeps every other process out of it until
 * it is closed. Rejects where it cannot be written.
 */
export async function openSpoolFolder(path: string): Promise<FolderOpening> {
  if (!existsSync(join(path, 'data.mdb'))) return { kind: 'no-spool' };
  const lock = lockFolder(path);
  if (lock === null) return { kind: 'in-use' };
  try {
    if (await isReadable(path)) return { kind: 'opened', folder: new SpoolFolder(path, lock) };
    const salvaged = await salvage(path);
    lock.release();
    return salvaged;
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function salvage(path: string): Promise<FolderOpening> {
  const records = salvageRecords(path);
  const folder = makeSpoolFolder(dirname(path));
  const kept = records.map((record) => folder.append(record, Infinity));
  await Promise.all(kept);
  const damagedPath = join(dirname(path), `damaged-${basename(path)}`);
  renameSync(path, damagedPath);
  return { kind: 'salvaged', folder, records: records.length, damagedPath };
}

/** Makes and locks a new folder below `directory`. Throws where that cannot be written. */
export function makeSpoolFolder(directory: string): SpoolFolder {
  const id = randomUUID();
  // Under another name until it is locked, so that nobody takes it for one left behind.
  const hidden = join(directory, `new-${id}`);
  const path = join(directory, `spool-${id}`);
  let lock: FolderLock | null = null;
  try {
    mkdirSync(hidden, { recursive: true, mode: 0o700 });
    lock = lockFolder(hidden);
    if (lock === null) throw new Error('the new folder of the spool cannot be locked');
    renameSync(hidden, path);
    return new SpoolFolder(path, lock);
  } catch (error) {
    for (const made of [hidden, path]) rmSync(made, { recursive: true, force: true });
    lock?.release();
    throw error;
  }
}
