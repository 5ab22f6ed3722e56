import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { readJson } from './place.js';
import { StartError, isRunning, recordOf, send, stopProcess } from './process.js';

/** @typedef {import('./process.js').ProcessRecord} ProcessRecord */

/**
 * What a launcher started, written down before it is used: whoever comes after a killed one can end
 * what it left.
 * @typedef {object} Ledger
 * @property {ProcessRecord} owner
 * @property {(ProcessRecord & { name: string })[]} processes in the order they were started
 * @property {string[]} folders to remove with them
 */

/** @typedef {Awaited<ReturnType<typeof openLedger>>} OpenLedger */

/**
 * Begins a ledger of this process. Throws a StartError naming the owner when another process has it
 * open; ends first what a dead owner left.
 * @param {string} path
 * @param {(line: string) => void} say
 */
export async function openLedger(path, say) {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  await endLeftovers(path, say);
  /** @type {Ledger} */
  const ledger = { owner: recordOf(process.pid), processes: [], folders: [] };
  // Exclusive: of two that start in the same moment, one is told.
  try {
    writeFileSync(path, JSON.stringify(ledger), { mode: 0o600, flag: 'wx' });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
    throw alreadyRuns(/** @type {Ledger | null} */ (readJson(path))?.owner.pid);
  }
  const save = () => {
    writeFileSync(path, JSON.stringify(ledger), { mode: 0o600 });
  };
  return {
    /** @param {ProcessRecord & { name: string }} process */
    add: ({ name, pid, startedAt }) => {
      // One that was restarted takes the place of the one before.
      const index = ledger.processes.findIndex((other) => other.name === name && !isRunning(other));
      if (index >= 0) ledger.processes.splice(index, 1);
      ledger.processes.push({ name, pid, startedAt });
      save();
    },
    /** @param {string} folder */
    addFolder: (folder) => {
      ledger.folders.push(folder);
      save();
    },
    /** Ends at once what of it runs. */
    killAll: () => {
      for (const one of ledger.processes) if (isRunning(one)) send(one.pid, 'SIGKILL');
    },
    /** To be called when all of it is gone. */
    close: () => rmSync(path, { force: true }),
  };
}

/**
 * Ends, last started first, what a dead owner left, and removes its folders and the ledger. Throws a
 * StartError when the owner lives.
 * @param {string} path
 * @param {(line: string) => void} say
 */
export async function endLeftovers(path, say) {
  const ledger = /** @type {Ledger | null} */ (readJson(path));
  if (ledger === null) {
    rmSync(path, { force: true });
    return;
  }
  if (isRunning(ledger.owner)) throw alreadyRuns(ledger.owner.pid);
  for (const left of ledger.processes.reverse()) {
    if (!isRunning(left)) continue;
    say(`ending ${left.name} (process ${left.pid.toString()}), left by a start that was killed`);
    await stopProcess(left, {
      signal: left.name === 'postgres' ? 'SIGINT' : 'SIGTERM',
      timeoutMs: 10_000,
    });
  }
  for (const folder of ledger.folders) rmSync(folder, { recursive: true, force: true });
  rmSync(path, { force: true });
}

/** @param {number | undefined} pid */
function alreadyRuns(pid) {
  return new StartError(
    `Leadgate already runs here: stop it (kill ${pid?.toString() ?? 'its process'}), or set ` +
      'LEADGATE_HOME to another folder to run a second one',
  );
}
