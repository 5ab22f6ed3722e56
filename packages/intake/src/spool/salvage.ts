import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { decodeSpooled, RECORD_MARK, type SpooledSubmission } from './spooled-submission.ts';

const run = promisify(execFile);
const lmdb = createRequire(import.meta.url).resolve('lmdb');

/** Reads every page that holds a record. In CommonJS, as `node -e` takes it. */
const READ_ALL = `
const [lmdb, path] = process.argv.slice(1);
const root = require(lmdb).open({ path, encoding: 'binary', maxDbs: 4 });
for (const name of ['records', 'damaged'])
  for (const _ of root.openDB(name, { encoding: 'binary' }).getRange({}));
`;

/**
 * Whether the database of a folder can be read to its end. LMDB believes what it reads: a page that
 * is gone or wrong does not throw but ends the process (SIGBUS, SIGSEGV or a failed assertion). So
 * what a process has left behind is read in another process first.
 */
export async function isReadable(folder: string): Promise<boolean> {
  try {
    await run(process.execPath, ['-e', READ_ALL, '--', lmdb, folder], { timeout: 120_000 });
    return true;
  } catch {
    return false;
  }
}

/**
 * All records that are whole somewhere in a folder's file, whatever its pages say, in the order of
 * their stamps. Among them are some that were drained before, on pages not yet used again: to drain
 * those once more changes nothing, as their submission ids are the same.
 */
export function salvageRecords(folder: string): SpooledSubmission[] {
  const bytes = readFileSync(join(folder, 'data.mdb'));
  const found = new Map<string, SpooledSubmission>();
  for (let at = bytes.indexOf(RECORD_MARK); at !== -1; at = bytes.indexOf(RECORD_MARK, at + 1)) {
    const spooled = decodeSpooled(bytes.subarray(at));
    if (spooled === null) continue;
    const { id } = spooled.submission;
    if (spooled.reserved || !found.has(id)) found.set(id, spooled);
  }
  return [...found.values()].sort((a, b) => a.submission.stamp - b.submission.stamp);
}
