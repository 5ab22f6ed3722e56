import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dataPlace, ownerOf, readJson, unprivilegedUser, writePrivateJson } from './place.js';
import { postgresBinaries } from './postgres-binaries.js';
import { StartError, choosePort, startProcess, stopProcess, waitReady } from './process.js';

/** @typedef {import('./process.js').RunningProcess} RunningProcess */
/** @typedef {import('./process.js').User} User */

/**
 * A server of our own that runs.
 * @typedef {object} PrivateServer
 * @property {string} url
 * @property {number} port
 * @property {RunningProcess} process
 * @property {(timeoutMs?: number) => Promise<boolean>} stop whether it stopped by itself in time
 */

/**
 * @typedef {object} ServerOptions
 * @property {string} home where its data is
 * @property {string} log
 * @property {(line: string) => void} say
 * @property {string} [programs] where fetched or copied programs are kept, when not in the home
 * @property {Record<string, string>} [settings] of its configuration file, over ours
 * @property {(process: RunningProcess) => void} [onProcess] called as soon as there is a process
 */

const DATABASE = 'leadgate';
const USER = 'leadgate';

/**
 * Starts the Postgres whose data is in the home, making it at the first start: loopback only, a
 * random password (kept in the home, mode 0600), a port that is kept as long as it is free.
 * @param {ServerOptions} options
 * @returns {Promise<PrivateServer>}
 */
export async function startPostgres({ home, log, say, programs = home, settings = {}, onProcess }) {
  const place = dataPlace({ home, name: 'postgres', user: unprivilegedUser(), say });
  const user = ownerOf(place, unprivilegedUser());
  const binaries = postgresBinaries({ user, home: programs, say });
  const data = join(place, 'data');
  const access = rememberedAccess(home);
  if (!existsSync(join(data, 'PG_VERSION')))
    initialise({
      ...{ binaries, place, data, user, log, password: access.password },
      sync: settings.fsync !== 'off',
    });
  checkVersion(data, binaries.major);

  const port = await choosePort(access.port);
  writePrivateJson(accessFile(home), { ...access, port });
  // Left by a killed server; with it there, readiness would be read from the past.
  if (!ownerRuns(data)) rmSync(join(data, 'postmaster.pid'), { force: true });
  const running = await startProcess({
    name: 'postgres',
    command: binaries.postgres,
    args: [
      ...['-D', data, '-p', port.toString(), '-h', '127.0.0.1', '-c', 'unix_socket_directories='],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    log,
    cwd: place,
    env: serverEnvironment(),
    user,
  });
  onProcess?.(running);
  await waitReady(running, { ready: () => isReady(data, running.pid), timeoutMs: 60_000, log });
  return {
    url: `postgresql://${USER}:${access.password}@127.0.0.1:${port.toString()}/${DATABASE}`,
    port,
    process: running,
    // SIGINT is Postgres's fast shutdown: it does not wait for clients.
    stop: (timeoutMs = 5000) => stopProcess(running, { signal: 'SIGINT', timeoutMs }),
  };
}

/** @param {string} home */
const accessFile = (home) => join(home, 'postgres.json');

/**
 * @param {string} home
 * @returns {{ password: string, port?: number }}
 */
function rememberedAccess(home) {
  const known = /** @type {{ password: string, port?: number } | null} */ (
    readJson(accessFile(home))
  );
  if (known) return known;
  const made = { password: randomBytes(18).toString('hex') };
  writePrivateJson(accessFile(home), made);
  return made;
}

/**
 * @param {Record<'place' | 'data' | 'password' | 'log', string> & { user: User | null, sync: boolean,
 *   binaries: import('./postgres-binaries.js').PostgresBinaries }} options
 */
function initialise({ binaries, place, data, user, password, log, sync }) {
  // What a killed first start left is not a database yet.
  rmSync(data, { recursive: true, force: true });
  const unfinished = join(place, 'unfinished');
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { mode: 0o700 });
  const passwordFile = join(place, 'password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user) {
    chownSync(unfinished, user.uid, user.gid);
    chownSync(passwordFile, user.uid, user.gid);
  }
  const locale =
    binaries.major >= 17
      ? ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
      : ['--locale=C'];
  try {
    run(binaries.initdb, [
      ...['-D', unfinished, '-U', USER, '-E', 'UTF8', '--auth=scram-sha-256', '--no-instructions'],
      ...[`--pwfile=${passwordFile}`, ...locale, ...(sync ? [] : ['--no-sync'])],
    ]);
    run(
      binaries.postgres,
      ['--single', '-D', unfinished, 'postgres'],
      `CREATE DATABASE ${DATABASE};\n`,
    );
    // Moved when whole, by the user who may.
    run('/bin/sh', ['-c', 'mv "$1" "$2"', 'sh', unfinished, data]);
  } finally {
    rmSync(passwordFile, { force: true });
  }

  /**
   * @param {string} command
   * @param {string[]} args
   * @param {string} [input]
   */
  function run(command, args, input = '') {
    const result = spawnSync(command, args, {
      cwd: place,
      encoding: 'utf8',
      input,
      env: serverEnvironment(),
      ...(user && { uid: user.uid, gid: user.gid }),
    });
    const output = `${result.stdout}${result.stderr}`;
    writeFileSync(log, output, { flag: 'a', mode: 0o600 });
    if (result.status !== 0)
      throw new StartError(
        `could not make a Postgres database in ${place} (${result.error?.message ?? `${command} ended with ${String(result.status)}`}):\n` +
          output.trimEnd().split('\n').slice(-8).join('\n'),
      );
  }
}

/**
 * @param {string} data
 * @param {number} major
 */
function checkVersion(data, major) {
  const written = Number(readFileSync(join(data, 'PG_VERSION'), 'utf8'));
  if (written !== major)
    throw new StartError(
      `the data in ${data} is of Postgres ${written.toString()} and the programs here are ${major.toString()}: ` +
        'dump it with its own version, or move it away to begin anew',
    );
}

/** Nothing of ours: PGDATA, PGPORT and the like would speak for another server. */
function serverEnvironment() {
  return { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' };
}

/**
 * The last line of postmaster.pid tells the state since Postgres 10 (pg_ctl reads it too).
 * @param {string} data
 * @param {number} pid
 */
function isReady(data, pid) {
  const lines = pidFile(data);
  return lines[0]?.trim() === pid.toString() && lines[7]?.trim() === 'ready';
}

/** @param {string} data */
function ownerRuns(data) {
  const pid = Number(pidFile(data)[0]);
  try {
    return pid > 0 && process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** @param {string} data */
function pidFile(data) {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return [];
  }
}
