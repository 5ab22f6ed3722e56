import { spawn } from 'node:child_process';
import { ROOT } from './prepare.js';

/**
 * Runs vitest to its end, with its output on ours. Resolves with its exit status.
 * @param {readonly string[]} args
 * @param {object} [options]
 * @param {string} [options.node] the program that runs it
 * @param {NodeJS.ProcessEnv} [options.env] besides this process's own
 * @returns {Promise<number>}
 */
export function runVitest(args, { node = process.execPath, env = {} } = {}) {
  const vitest = spawn(node, ['node_modules/vitest/vitest.mjs', 'run', ...args], {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  // A terminal sends Ctrl-C to both; vitest ends its servers, and this waits for it.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => signal !== 'SIGINT' && vitest.kill(signal));
  return new Promise((resolve) => {
    vitest.once('exit', (code) => {
      resolve(code ?? 1);
    });
  });
}
