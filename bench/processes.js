import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { answersOk, freeAddress, startApp } from '../scripts/launcher/apps.js';
import { processLedger } from '../scripts/servers/private-home.js';
import { startProcess, stopProcess, waitReady } from '../scripts/servers/process.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** @typedef {{ name: string, pid: number, url: string, stop: () => Promise<void> }} Running */

/** How long one of them may take to finish what it holds. */
const STOP_MS = 60_000;

/**
 * Starts one of Leadgate's processes as it runs in production, from dist/, and waits for /ready.
 * @param {'receiver' | 'worker' | 'deliverer' | 'console'} name
 * @param {{ log: string, env: Record<string, string>, profiles?: string | null, flags?: string[], node?: string }} options
 *   `node`: the program that runs it, if it is not the one that runs this
 * @returns {Promise<Running>}
 */
export async function startLeadgate(name, { log, env, profiles = null, flags: own = [], ...rest }) {
  const { add } = await processLedger();
  if (profiles !== null) mkdirSync(profiles, { recursive: true });
  const flags =
    profiles === null
      ? own
      : [...own, '--cpu-prof', `--cpu-prof-dir=${profiles}`, `--cpu-prof-name=${name}.cpuprofile`];
  const settings = { NODE_ENV: 'production', ...env };
  const running = await startApp({
    ...{ app: name, log, env: settings, flags, onProcess: add },
    ...rest,
  });
  const stop = () => running.stop(STOP_MS).then(() => undefined);
  return { name, pid: running.process.pid, url: running.url, stop };
}

/**
 * Starts one of the services to compare with.
 * @param {string} name its file in services/
 * @param {string} log
 * @param {Record<string, string | number>} [settings]
 * @returns {Promise<Running>}
 */
export async function startService(name, log, settings = {}) {
  const { add } = await processLedger();
  const { port, url } = await freeAddress();
  const running = await startProcess({
    ...{ name, log, cwd: ROOT, env: { NODE_ENV: 'production' }, command: process.execPath },
    args: [`bench/services/${name}.js`, JSON.stringify({ ...settings, port })],
  });
  add(running);
  await waitReady(running, { ready: () => answersOk(`${url}/ready`), timeoutMs: 20_000, log });
  const stop = () => stopProcess(running, { timeoutMs: STOP_MS }).then(() => undefined);
  return { name, pid: running.pid, url, stop };
}

/** @param {string} file in this folder */
export const here = (file) => join(ROOT, 'bench', file);
