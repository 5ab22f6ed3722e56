import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { endLeftovers, openLedger } from './ledger.js';

/** Fetched programs are kept with those of `npm start`; so is the list of what a run started. */
const REPOSITORY_HOME = fileURLToPath(new URL('../../.leadgate', import.meta.url));
const LEDGERS = join(REPOSITORY_HOME, 'test-servers');

/** @type {ReturnType<typeof openLedger> | undefined} */
let ledger;

/** The list of what this process started, which ends with it; after a kill, whoever comes next ends it. */
export function processLedger() {
  // A process may load this module more than once: each project of a test run does.
  ledger ??= openLedger(join(LEDGERS, `${process.pid.toString()}-${randomUUID()}.json`), say).then(
    (opened) => {
      process.once('exit', opened.killAll);
      return opened;
    },
  );
  return ledger;
}

/**
 * A folder for the data of one server that lives no longer than the process that started it.
 * @param {{ inMemory?: boolean }} [options] inMemory: where what survives a killed process, but no power
 *   cut, will do; on disk all the same on a machine that has no room in its memory
 */
export async function makeHome({ inMemory = false } = {}) {
  mkdirSync(REPOSITORY_HOME, { recursive: true });
  const path = mkdtempSync(join((inMemory && folderInMemory()) || tmpdir(), 'leadgate-test-'));
  // Under root, Postgres runs as another user, who has to pass through here to his own folder.
  chmodSync(path, 0o711);
  (await processLedger()).addFolder(path);
  return {
    path,
    log: join(path, 'server.log'),
    programs: REPOSITORY_HOME,
    remove: () => {
      for (const name of readdirSync(path))
        rmSync(realpathSync(join(path, name)), { recursive: true, force: true });
      rmSync(path, { recursive: true, force: true });
    },
  };
}

/** What all servers of a run may come to, several times over. */
const ROOM_IN_MEMORY = 4 * 1024 ** 3;

/** Linux's folder of shared memory, or null when it or the machine has too little room. */
function folderInMemory() {
  const folder = '/dev/shm';
  try {
    const { bavail, bsize } = statfsSync(folder);
    return Math.min(bavail * bsize, freemem()) < ROOM_IN_MEMORY ? null : folder;
  } catch {
    return null;
  }
}

/** Ends servers of runs that were killed. */
export async function endLeftoverServers() {
  mkdirSync(LEDGERS, { recursive: true });
  for (const name of readdirSync(LEDGERS)) {
    // One whose run is alive is none of ours.
    await endLeftovers(join(LEDGERS, name), () => undefined).catch(() => undefined);
  }
}

/** @param {string} line */
export function say(line) {
  console.error(`tests: ${line}`);
}
