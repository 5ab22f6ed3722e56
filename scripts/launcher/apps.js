import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { ROOT } from '../prepare.js';
import { NODE_OPTIONS } from './node-options.js';
import {
  StartError,
  choosePort,
  startProcess,
  stopProcess,
  waitReady,
} from '../servers/process.js';

/** @typedef {import('../servers/process.js').RunningProcess} RunningProcess */
/** @typedef {{ host: string, port: number, url: string }} Address where something listens, and how it is reached */

/**
 * @typedef {object} AppOptions
 * @property {'receiver' | 'worker' | 'deliverer' | 'console'} app
 * @property {string} [name] of this one, if several run
 * @property {Address} [address] a free port of the loopback interface unless told
 * @property {string} log its output is appended to it
 * @property {NodeJS.ProcessEnv} env all of it but where the app listens; NODE_OPTIONS as in production unless it says
 * @property {string} [node] its program, if it is not the one that runs this
 * @property {readonly string[]} [flags] of Node
 * @property {string} [from] the folder of another build
 * @property {(process: RunningProcess) => void} [onProcess] called as soon as there is a process
 */

/**
 * Starts one of the apps from its dist/ and waits until it says that it is ready. Throws a StartError
 * with the end of its log when it does not.
 * @param {AppOptions} options
 */
export async function startApp(options) {
  const started = await launchApp(options);
  const ready = () => answersOk(`${started.url}/ready`);
  await waitReady(started.process, { ready, timeoutMs: 60_000, log: options.log });
  return started;
}

/**
 * The same without the wait. `stop` tells whether it stopped by itself in time.
 * @param {AppOptions} options
 */
export async function launchApp({ app, name = app, log, env, flags = [], from = ROOT, ...rest }) {
  const { host, port, url } = rest.address ?? (await freeAddress());
  const variable = app.toUpperCase();
  const process = await startProcess({
    name,
    command: rest.node ?? globalThis.process.execPath,
    args: [...flags, join(from, 'apps', app, 'dist/main.js')],
    cwd: from,
    env: {
      NODE_OPTIONS,
      ...env,
      [`${variable}_HOST`]: host,
      [`${variable}_PORT`]: port.toString(),
    },
    log,
  });
  rest.onProcess?.(process);
  /** @param {number} timeoutMs */
  const stop = (timeoutMs) => stopProcess(process, { timeoutMs });
  return { url, process, stop };
}

/** The command line. */
export const CLI = join(ROOT, 'apps/cli/bin/leadgate.js');

/**
 * Runs a command of the CLI and returns what it printed as JSON. Its sentence is ours when it fails.
 * @param {NodeJS.ProcessEnv} env besides this process's own
 * @param {string[]} args
 * @param {Pick<import('node:child_process').SpawnOptions, 'cwd' | 'signal' | 'timeout' | 'killSignal'>} [options] what
 *   ends it, and where it runs if not in the folder of the repository
 * @returns {Promise<unknown>}
 */
export async function leadgate(env, args, options) {
  const child = spawn(process.execPath, [CLI, ...args, '--json'], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  const [out, err, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  if (status === 0) return JSON.parse(out);
  throw new StartError(`leadgate ${args.join(' ')} failed: ${err.trim()}`);
}

/** @returns {Promise<Address>} */
export async function freeAddress() {
  const [host, port] = ['127.0.0.1', await choosePort(undefined)];
  return { host, port, url: `http://${host}:${port.toString()}` };
}

/**
 * Whether an address answers 2xx within two seconds.
 * @param {string} url
 */
export async function answersOk(url) {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
