import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartError, runs } from './process.js';

/** @typedef {import('./process.js').User} User */

/** Where a server that may not run as root keeps what it cannot keep in a closed folder. */
const OPEN_PLACES = ['/var/lib/leadgate', join(tmpdir(), 'leadgate')];

/**
 * As whom a server runs that refuses to run as root: null when we are not root.
 * @returns {User | null}
 */
export function unprivilegedUser() {
  if (process.getuid?.() !== 0) return null;
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  for (const wanted of ['postgres', '_postgres', 'nobody']) {
    const found = users.find(([name]) => name === wanted);
    // macOS writes nobody's -2 as it is; the system calls take it unsigned.
    if (found) return { name: wanted, uid: Number(found[2]) >>> 0, gid: Number(found[3]) >>> 0 };
  }
  throw new StartError(
    'Postgres does not run as root and there is neither a user postgres nor nobody: ' +
      'add one (useradd --system postgres), run as a plain user, or give DATABASE_URL',
  );
}

/**
 * Whether a user can enter a folder: every folder above must let him through. Asked of the system,
 * as him, since modes do not tell all.
 * @param {User} user
 * @param {string} folder
 */
export function canEnter(user, folder) {
  const { uid, gid } = user;
  return runs('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], { cwd: '/', uid, gid });
}

/**
 * A folder for a server's data inside the home, or, if the user it runs as cannot enter the home,
 * elsewhere with a link in the home. Made when it is not there; owned by that user, closed to others.
 * @param {{ home: string, name: string, user: User | null, say: (line: string) => void }} options
 * @returns {string} its real path
 */
export function dataPlace({ home, name, user, say }) {
  const path = join(home, name);
  if (existsSync(path)) return realpathSync(path);
  const lost = linkTarget(path);
  if (lost !== null)
    throw new StartError(
      `${path} points to ${lost}, which is gone: bring it back, or delete the link to begin anew`,
    );
  if (user === null || canEnter(user, home)) {
    mkdirSync(path, { mode: 0o700 });
    if (user) chownSync(path, user.uid, user.gid);
    return realpathSync(path);
  }
  const elsewhere = mkdtempSync(join(openPlace(user), `${name}-`));
  chownSync(elsewhere, user.uid, user.gid);
  symlinkSync(elsewhere, path);
  say(
    `${name} runs as the user ${user.name}, who cannot enter ${home}: ` +
      `its data is in ${elsewhere}, linked from there`,
  );
  return elsewhere;
}

/**
 * As whom to run on data that is there: its owner, since Postgres refuses another's.
 * @param {string} folder
 * @param {User | null} user
 * @returns {User | null}
 */
export function ownerOf(folder, user) {
  const { uid, gid } = statSync(folder);
  return user === null || uid === 0 ? user : { name: uid.toString(), uid, gid };
}

/** @param {string} path */
function linkTarget(path) {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/**
 * A folder that a user can enter and only root can write to.
 * @param {User} user
 */
export function openPlace(user) {
  for (const place of OPEN_PLACES) {
    try {
      mkdirSync(place, { recursive: true, mode: 0o755 });
      if (canEnter(user, place)) return place;
    } catch {
      // Read-only, or a file of that name: the next one.
    }
  }
  throw new StartError(
    `the user ${user.name} can enter neither ${OPEN_PLACES.join(' nor ')}: ` +
      'set LEADGATE_HOME to a folder he can enter, or give DATABASE_URL',
  );
}

/**
 * Reads a small JSON file of this launcher, null if there is none (or half of one).
 * @template T
 * @param {string} path
 * @returns {T | null}
 */
export function readJson(path) {
  try {
    return /** @type {T} */ (JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return null;
  }
}

/**
 * Writes a file that holds a password: readable by its owner only.
 * @param {string} path
 * @param {unknown} value
 */
export function writePrivateJson(path, value) {
  writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`, { mode: 0o600 });
}
