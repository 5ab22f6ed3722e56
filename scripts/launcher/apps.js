import { join } from 'node:path';
import { ROOT } from '../prepare.js';
import { NODE_FLAGS } from './node-flags.js';
import { startProcess, stopProcess, waitReady } from '../servers/process.js';

/** @typedef {import('../servers/process.js').RunningProcess} RunningProcess */

/**
 * Starts one of the apps from its dist/ and waits until it says that it is ready.
 * @param {object} options
 * @param {'receiver' | 'worker' | 'deliverer' | 'console'} options.name
 * @param {string} options.readyUrl
 * @param {string} options.log
 * @param {NodeJS.ProcessEnv} options.env
 * @param {(process: RunningProcess) => void} options.onProcess
 * @returns {Promise<import('./supervise.js').Running>}
 */
export async function startApp({ name, readyUrl, log, env, onProcess }) {
  const running = await startProcess({
    name,
    command: process.execPath,
    args: [...NODE_FLAGS, '--enable-source-maps', join(ROOT, 'apps', name, 'dist/main.js')],
    cwd: ROOT,
    env: { ...process.env, ...env },
    log,
  });
  onProcess(running);
  await waitReady(running, { ready: () => answersOk(readyUrl), timeoutMs: 60_000, log });
  return { process: running, stop: (timeoutMs) => stopProcess(running, { timeoutMs }) };
}

/** @param {string} url */
async function answersOk(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
