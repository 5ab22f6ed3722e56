import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { StartError } from './servers/process.js';

/** The folder of the repository. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** @typedef {(line: string) => void} Say */

/** Writes a line of the launcher: on stderr, so that stdout is free for what is asked for. */
export const say = (/** @type {string} */ line) => {
  process.stderr.write(`${line}\n`);
};

/**
 * Dependencies and the Prisma client, if they are missing or older than what they are made from.
 * @param {AbortSignal} [signal] ends what runs
 */
export async function prepareSources(signal) {
  checkNode();
  await install(signal);
  await generate(signal);
}

/**
 * All that running the apps needs. Quick when nothing changed.
 * @param {AbortSignal} [signal] ends what runs
 */
export async function prepare(signal) {
  await prepareSources(signal);
  await build(signal);
}

export function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > 20 || (major === 20 && minor >= 19)) return;
  throw new StartError(
    `Leadgate needs Node 20.19 or newer and this is ${process.versions.node}: install a newer one from https://nodejs.org`,
  );
}

/** @param {AbortSignal} [signal] */
async function install(signal) {
  if (isInstalled()) return;
  say('installing dependencies (npm ci)');
  await run('npm', ['ci', '--include=dev', '--no-progress', '--loglevel=error'], {
    signal,
    hint: 'see its message above',
  });
}

/**
 * Whether node_modules holds what package-lock.json says, by the list that npm leaves there when an
 * installation is complete. By content: times say nothing after a checkout.
 */
function isInstalled() {
  const wanted = lockedPackages('package-lock.json') ?? {};
  const present = lockedPackages('node_modules/.package-lock.json');
  if (present === null) return false;
  return (
    Object.entries(present).every(([path, { version }]) => wanted[path]?.version === version) &&
    // Optional ones are those of other platforms.
    Object.entries(wanted).every(([path, { optional }]) => optional || path === '' || present[path])
  );
}

/**
 * @param {string} file
 * @returns {Record<string, { version?: string, optional?: boolean }> | null}
 */
function lockedPackages(file) {
  try {
    return JSON.parse(readFileSync(join(ROOT, file), 'utf8')).packages;
  } catch {
    return null;
  }
}

/**
 * What is made from sources and not kept: the Prisma client, and the types of the console's API.
 * @param {AbortSignal} [signal]
 */
export async function generate(signal) {
  // Without the schema engine: it would be a download, and generating needs none.
  await make({
    what: 'the Prisma client',
    from: ['prisma/schema.prisma', 'prisma.config.ts', 'node_modules/prisma/package.json'],
    stampFile: 'packages/store/src/generated/made-from',
    args: ['node_modules/prisma/build/index.js', 'generate'],
    env: {
      PRISMA_SCHEMA_ENGINE_BINARY: '/bin/false',
      PRISMA_HIDE_UPDATE_MESSAGE: '1',
      CHECKPOINT_DISABLE: '1',
    },
    signal,
  });
  await make({
    what: "the types of the console's API",
    from: ['apps/console/openapi.json', 'apps/web/generate.js', 'apps/web/package.json'],
    stampFile: 'apps/web/src/generated/made-from',
    args: ['apps/web/generate.js'],
    env: {},
    signal,
  });
}

/**
 * Runs a generator if what it made is older than what it is made from.
 * @param {{ what: string, from: string[], stampFile: string, args: string[], env: NodeJS.ProcessEnv,
 *   signal: AbortSignal | undefined }} options
 */
async function make({ what, from: sources, stampFile, args, env, signal }) {
  const hash = createHash('sha256');
  for (const source of sources) hash.update(readFileSync(join(ROOT, source)));
  const stamp = hash.digest('hex');
  const file = join(ROOT, stampFile);
  if (existsSync(file) && readFileSync(file, 'utf8') === stamp) return;
  say(`generating ${what}`);
  await run('node', args, { signal, env, hint: `see ${String(sources[0])}`, quiet: true });
  writeFileSync(file, stamp);
}

/**
 * dist/ of every package, by turbo, which knows what is current. Not of the root: that is this.
 * @param {AbortSignal} [signal]
 */
async function build(signal) {
  const filters = ['--filter=./packages/*', '--filter=./apps/*'];
  await run(
    'node',
    ['node_modules/turbo/bin/turbo', 'run', 'build', '--output-logs=errors-only', ...filters],
    {
      signal,
      env: { TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' },
      hint: '`npx tsc --noEmit` shows type errors',
      quiet: true,
    },
  );
}

/**
 * @param {'node' | 'npm'} command
 * @param {string[]} args
 * @param {object} options
 * @param {string} options.hint what to do when it fails
 * @param {AbortSignal | undefined} options.signal
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {boolean} [options.quiet] its output is shown only when it fails
 * @returns {Promise<void>}
 */
function run(command, args, { hint, signal, env, quiet = false }) {
  const child = spawn(command === 'node' ? process.execPath : command, args, {
    cwd: ROOT,
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : ['ignore', process.stderr, process.stderr],
    env: { ...process.env, ...env },
    ...(signal && { signal }),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => {
      output += String(chunk);
    });
  return new Promise((resolve, reject) => {
    /** @param {string} cause */
    const fail = (cause) => {
      process.stderr.write(output);
      reject(new StartError(`${[command, ...args].join(' ')} failed (${cause}): ${hint}`));
    };
    child.once('error', (error) => {
      if (!signal?.aborted) fail(error.message);
    });
    child.once('close', (status, killedBy) => {
      if (status === 0) resolve();
      else if (signal?.aborted) reject(new StartError('stopped before it was ready'));
      else fail(killedBy ?? `status ${String(status)}`);
    });
  });
}
