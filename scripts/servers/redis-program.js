import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { IMAGES, containerEngine, hasImage } from './containers.js';
import { StartError, runs } from './process.js';

/**
 * How to run a Redis here.
 * @typedef {{ kind: 'program', command: string, env?: NodeJS.ProcessEnv }
 *   | { kind: 'container', engine: string, image: string }} RedisProgram
 */

const NAMES = ['redis-server', 'valkey-server'];

/**
 * The program that the tests are to run on; else the first way that works: a program on PATH; the distribution's package, fetched into the home and
 * not installed; a container engine.
 * @param {{ home: string, log: string, say: (line: string) => void }} options
 * @returns {RedisProgram}
 */
export function redisProgram({ home, log, say }) {
  // As `npm run test:redis` says.
  const { TEST_REDIS_PROGRAM: given } = process.env;
  if (given) {
    if (isThere(given)) return { kind: 'program', command: given };
    throw new StartError(`there is no ${given} to run the tests on`);
  }
  for (const command of NAMES) if (isThere(command)) return { kind: 'program', command };
  const fetched = fetchedProgram(home) ?? fetchPackage({ home, log, say });
  if (fetched) return fetched;
  const engine = containerEngine();
  if (engine !== null && hasImage(engine, IMAGES.redis))
    return { kind: 'container', engine, image: IMAGES.redis };
  throw new StartError(
    'there is no Redis here and no way to get one by itself: install redis-server (or valkey-server) ' +
      'with your package manager, start Docker, or give the URL of a server in REDIS_URL' +
      (existsSync(log) ? ` (what was tried: ${log})` : ''),
  );
}

/**
 * @param {string} command
 * @param {NodeJS.ProcessEnv} [env]
 */
const isThere = (command, env) => runs(command, ['--version'], { env });

/**
 * The program of a package that an earlier start unpacked.
 * @param {string} home
 * @returns {RedisProgram | null}
 */
function fetchedProgram(home) {
  const root = join(home, 'redis-package');
  for (const name of NAMES) {
    const path = join(root, 'usr/bin', name);
    if (!existsSync(path)) continue;
    const env = { ...process.env, LD_LIBRARY_PATH: libraryFolders(root).join(':') };
    // The real path: Redis looks at the name it is called by, and a package may link to it.
    if (isThere(path, env)) return { kind: 'program', command: path, env };
    if (isThere(realpathSync(path), env))
      return { kind: 'program', command: realpathSync(path), env };
  }
  return null;
}

/** @param {string} root */
function libraryFolders(root) {
  const folders = [];
  for (const lib of [join(root, 'usr/lib'), join(root, 'lib')]) {
    if (!existsSync(lib)) continue;
    folders.push(lib);
    const triplets = readdirSync(lib).filter((name) => name.includes('-linux-'));
    folders.push(...triplets.map((name) => join(lib, name)));
  }
  return folders;
}

/**
 * Debian and what comes from it: the package and what it needs that is not installed, by apt, which
 * checks signatures. Lists and cache are our own, so neither root nor the machine's state is needed.
 * @param {{ home: string, log: string, say: (line: string) => void }} options
 * @returns {RedisProgram | null}
 */
function fetchPackage({ home, log, say }) {
  if (!isThere('apt-get') || !isThere('dpkg-deb')) return null;
  const work = mkdtempSync(join(home, 'apt-'));
  try {
    for (const folder of ['lists/partial', 'cache/archives/partial', 'debs', 'root'])
      mkdirSync(join(work, folder), { recursive: true });
    say(
      "there is no redis-server here: fetching the distribution's package, without installing it",
    );
    // A source that fails need not be the one that has Redis.
    apt('apt-get', ['update']);
    const name = NAMES.find(
      (candidate) => apt('apt-cache', ['show', candidate])?.includes('Filename:') === true,
    );
    if (name === undefined) return null;
    const download = apt('apt-get', ['download', ...packages(name)], join(work, 'debs'));
    if (download === null) return null;
    const root = join(work, 'root');
    for (const deb of readdirSync(join(work, 'debs'))) {
      if (run('dpkg-deb', ['-x', join(work, 'debs', deb), root]) === null) return null;
    }
    rmSync(join(home, 'redis-package'), { recursive: true, force: true });
    renameSync(root, join(home, 'redis-package'));
    return fetchedProgram(home);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }

  /**
   * The package, its tools (which hold its program), and the libraries they need that are missing.
   * @param {string} name
   */
  function packages(name) {
    const family = name.slice(0, name.indexOf('-') + 1);
    const wanted = new Set([name]);
    // A set hands out what is added to it on the way.
    for (const one of wanted)
      for (const alternatives of dependencies(one)) {
        if (alternatives.some(isInstalled) && !alternatives[0]?.startsWith(family)) continue;
        const needed = alternatives.find((other) => /^(lib|redis-|valkey-)/.test(other));
        if (needed !== undefined) wanted.add(needed);
      }
    return [...wanted];
  }

  /**
   * What a package depends on, each as its alternatives.
   * @param {string} name
   */
  function dependencies(name) {
    /** @type {string[][]} */
    const all = [];
    let isNext = false;
    for (const line of (apt('apt-cache', ['depends', '--important', name]) ?? '').split('\n')) {
      const match = /^ +?([| ])(?:Pre)?Depends: ([a-z0-9][a-z0-9.+-]*)/.exec(line);
      if (!match?.[2]) continue;
      if (isNext) all.at(-1)?.push(match[2]);
      else all.push([match[2]]);
      isNext = match[1] === '|';
    }
    return all;
  }

  /**
   * @param {string} program
   * @param {string[]} args
   * @param {string} [cwd]
   */
  function apt(program, args, cwd = work) {
    const options = {
      'Dir::State::Lists': join(work, 'lists'),
      'Dir::Cache': join(work, 'cache'),
      'Debug::NoLocking': '1',
      // As root, apt would fetch as a user of its own, who cannot enter a closed home.
      'APT::Sandbox::User': 'root',
      'Acquire::Languages': 'none',
      'Acquire::Retries': '2',
    };
    const flags = Object.entries(options).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
    return run(program, [...flags, ...args], cwd);
  }

  /**
   * @param {string} command
   * @param {string[]} args
   * @param {string} [cwd]
   * @returns {string | null} its output, null when it failed
   */
  function run(command, args, cwd = work) {
    const { status, stdout, stderr } = spawnSync(command, args, {
      cwd,
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      timeout: 300_000,
      env: { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive', TMPDIR: work },
    });
    if (status !== 0 || command === 'apt-get')
      writeFileSync(log, `${command} ${args.slice(-2).join(' ')}\n${stdout}${stderr}`, {
        flag: 'a',
        mode: 0o600,
      });
    return status === 0 ? stdout : null;
  }
}

/** @param {string} name */
function isInstalled(name) {
  const { stdout } = spawnSync('dpkg-query', ['-W', '-f', '${db:Status-Abbrev}\n', name], {
    encoding: 'utf8',
  });
  return /^ii/m.test(stdout);
}
