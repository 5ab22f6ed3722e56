import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/**
 * A process this repository started, as it is written down: a pid alone may since belong to another.
 * @typedef {{ pid: number, startedAt: string }} ProcessRecord
 */

/**
 * @typedef {object} RunningProcess
 * @property {string} name
 * @property {number} pid
 * @property {string} startedAt
 * @property {Promise<{ code: number | null, signal: NodeJS.Signals | null }>} exited
 */

/** @typedef {{ uid: number, gid: number, name: string }} User */

/** A failure that an operator can mend: its message says how, and no stack helps. */
export class StartError extends Error {
  /** @override */
  name = 'StartError';
}

/**
 * Starts a process in a group of its own, so that a terminal's Ctrl-C reaches only the launcher.
 * Its output is appended to the log.
 * @param {object} options
 * @param {string} options.name
 * @param {string} options.command
 * @param {readonly string[]} options.args
 * @param {string} options.log path of its log file
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {string} [options.cwd]
 * @param {User | null} [options.user] as whom to run, when root starts it
 * @returns {Promise<RunningProcess>}
 */
export async function startProcess({ name, command, args, log, env, cwd, user }) {
  const output = openSync(log, 'a', 0o600);
  try {
    const child = spawn(command, args, {
      detached: true,
      stdio: ['ignore', output, output],
      ...(env && { env }),
      ...(cwd !== undefined && { cwd }),
      ...(user && { uid: user.uid, gid: user.gid }),
    });
    /** @type {RunningProcess['exited']} */
    const exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    await new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => {
        reject(new StartError(`could not run ${command}: ${error.message}`));
      });
    });
    return { name, ...recordOf(child.pid ?? 0), exited };
  } finally {
    closeSync(output);
  }
}

/**
 * Runs a program to its end, with its output thrown away: whether that is 0.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnSyncOptions} [options]
 */
export const runs = (command, args, options) =>
  spawnSync(command, args, { stdio: 'ignore', ...options }).status === 0;

/**
 * What a process that was just started is known by later: its id alone may be another's then.
 * @param {number} pid
 * @returns {ProcessRecord}
 */
export const recordOf = (pid) => ({ pid, startedAt: startOf(pid) ?? '' });

/**
 * When a process started, in whatever form the system tells; null when there is none.
 * @param {number} pid
 * @returns {string | null}
 */
function startOf(pid) {
  if (process.platform !== 'linux') return startByPs(pid);
  const fields = statOf(pid);
  // A zombie is gone.
  return fields === null || fields[0] === 'Z' ? null : (fields[19] ?? null);
}

/**
 * The fields of /proc/<pid>/stat behind the name, which may hold anything; null when there is no such process.
 * @param {number} pid
 */
export function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid.toString()}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

/** @param {number} pid */
function startByPs(pid) {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', pid.toString()], { encoding: 'utf8' }).trim();
  } catch {
    return null;
  }
}

/**
 * Whether the process that was recorded still runs.
 * @param {ProcessRecord} record
 */
export function isRunning({ pid, startedAt }) {
  return pid > 0 && startedAt !== '' && startOf(pid) === startedAt;
}

/**
 * Asks a process to stop and waits; after the timeout it is killed.
 * @param {ProcessRecord} record
 * @param {{ signal?: NodeJS.Signals, timeoutMs: number }} options
 * @returns {Promise<boolean>} whether it stopped by itself
 */
export async function stopProcess(record, { signal = 'SIGTERM', timeoutMs }) {
  if (!isRunning(record)) return true;
  send(record.pid, signal);
  if (await waitUntil(() => !isRunning(record), timeoutMs)) return true;
  send(record.pid, 'SIGKILL');
  await waitUntil(() => !isRunning(record), 2000);
  return false;
}

/**
 * Sends a signal to a process that may have ended by now.
 * @param {number} pid
 * @param {NodeJS.Signals} signal
 */
export function send(pid, signal) {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended in this moment.
  }
}

/**
 * @param {() => boolean | Promise<boolean>} condition
 * @param {number} timeoutMs
 * @param {number} [everyMs]
 * @returns {Promise<boolean>} false when the time is over
 */
export async function waitUntil(condition, timeoutMs, everyMs = 25) {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) return false;
    await delay(everyMs);
  }
  return true;
}

/**
 * Waits for a process to become ready. Throws a StartError with the end of its log when it ends
 * before, or when the time is over.
 * @param {RunningProcess} running
 * @param {{ ready: () => boolean | Promise<boolean>, timeoutMs: number, log: string }} options
 */
export async function waitReady(running, { ready, timeoutMs, log }) {
  let ended = false;
  void running.exited.then(() => (ended = true));
  const isReady = await waitUntil(async () => ended || (await ready()), timeoutMs);
  if (isReady && !ended) return;
  const what = ended
    ? 'ended before it was ready'
    : `was not ready in ${String(timeoutMs / 1000)} s`;
  await stopProcess(running, { timeoutMs: 2000 });
  throw new StartError(`${running.name} ${what}; its log (${log}) ends with:\n${endOf(log)}`);
}

/**
 * @param {string} log
 * @param {number} [lines]
 */
export function endOf(log, lines = 8) {
  try {
    return readFileSync(log, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '(empty)';
  }
}

/**
 * Whether a port of the loopback interface can be listened on.
 * @param {number} port
 * @param {string} [host]
 * @returns {Promise<boolean>}
 */
export function isPortFree(port, host = '127.0.0.1') {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}

/** Where ports of outgoing connections begin on Linux; other systems' are higher. */
const FIRST_OUTGOING_PORT = 32_000;

/**
 * The port that was used before when it is free, else one that is. Below the range from which systems
 * take ports of outgoing connections: in it, a client that retries while the server is away can end
 * up connected to itself, and then the server cannot have its port back.
 * @param {number | undefined} remembered
 * @param {number} [second] how far above it another one has to be free too
 * @returns {Promise<number>}
 */
export async function choosePort(remembered, second = 0) {
  /** @param {number} port */
  const isFree = async (port) =>
    (await isPortFree(port)) && (second === 0 || (await isPortFree(port + second)));
  if (remembered !== undefined && (await isFree(remembered))) return remembered;
  const below = FIRST_OUTGOING_PORT - second;
  for (let attempt = 0; attempt < 100; attempt++) {
    const port = randomInt(20_000, below);
    if (await isFree(port)) return port;
  }
  throw new StartError(`there is no free port between 20000 and ${below.toString()}`);
}
