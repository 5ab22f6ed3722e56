import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS } from '../scripts/launcher/node-flags.js';
import { choosePort } from '../scripts/servers/process.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * @typedef {object} Running
 * @property {string} name
 * @property {number} pid
 * @property {string} url of its HTTP port, where it has one
 * @property {() => Promise<void>} stop
 */

/** @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/**
 * Starts one of Leadgate's processes as it runs in production, from dist/, and waits for /ready.
 * @param {'receiver' | 'worker'} name
 * @param {{ log: string, env: Record<string, string>, profiles?: string | null }} options
 * @returns {Promise<Running>}
 */
export async function startLeadgate(name, { log, env, profiles = null }) {
  const port = (await choosePort(undefined)).toString();
  const url = `http://127.0.0.1:${port}`;
  const running = launch(name, [...NODE_FLAGS, `apps/${name}/dist/main.js`], {
    log,
    profiles,
    env: {
      NODE_ENV: 'production',
      ...(name === 'receiver'
        ? { RECEIVER_HOST: '127.0.0.1', RECEIVER_PORT: port }
        : { WORKER_HOST: '127.0.0.1', WORKER_PORT: port }),
      ...env,
    },
  });
  await answering(`${url}/ready`, running, log);
  return { ...running, url };
}

/**
 * Starts one of the services to compare with.
 * @param {string} name its file in services/
 * @param {{ log: string, settings: Record<string, string | number> }} options
 * @returns {Promise<Running>}
 */
export async function startService(name, { log, settings }) {
  const port = await choosePort(undefined);
  const url = `http://127.0.0.1:${port.toString()}`;
  const running = launch(
    name,
    [`bench/services/${name}.js`, JSON.stringify({ ...settings, port })],
    { log, profiles: null, env: { NODE_ENV: 'production' } },
  );
  await answering(`${url}/ready`, running, log);
  return { ...running, url };
}

/**
 * @param {string} name
 * @param {string[]} args
 * @param {{ log: string, env: Record<string, string>, profiles: string | null }} options
 */
function launch(name, args, { log, env, profiles }) {
  const output = openSync(log, 'a', 0o600);
  if (profiles !== null) mkdirSync(profiles, { recursive: true });
  const flags =
    profiles === null
      ? []
      : ['--cpu-prof', `--cpu-prof-dir=${profiles}`, `--cpu-prof-name=${name}.cpuprofile`];
  const child = spawn(process.execPath, [...flags, ...args], {
    cwd: ROOT,
    env,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  children.add(child);
  const ended = new Promise((resolve) => child.once('close', resolve));
  void ended.then(() => children.delete(child));
  return {
    name,
    pid: child.pid ?? 0,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/**
 * @param {string} url
 * @param {{ name: string, hasEnded: () => boolean }} running
 * @param {string} log
 */
async function answering(url, { name, hasEnded }, log) {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; await delay(50)) {
    if (hasEnded()) break;
    const answer = await fetch(url).catch(() => null);
    if (answer?.ok) return;
  }
  const end = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-8).join('\n');
  throw new Error(`${name} did not become ready; its log ends with:\n${end}`);
}

/** @param {string} file in this folder */
export const here = (file) => join(ROOT, 'bench', file);
