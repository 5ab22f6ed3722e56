import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { ROOT, prepare, say } from './prepare.js';
import { runMain } from './run-main.js';
import { runVitest } from './run-vitest.js';
import { StartError } from './servers/process.js';

/** The current long-term support of Node, which the image runs on. */
const LTS = '24.22.3';

/**
 * Packages and apps, each with real servers. Not again: whole systems (e2e, chaos, the launcher), which
 * take longest, and what needs a browser or a Redis Cluster.
 */
const TESTS = ['packages/', 'apps/'];

// The tests once more, on the Node that is recommended.
await runMain(async () => {
  await prepare();
  const node = await nodeOf(LTS);
  const args = process.argv.slice(2);
  process.exitCode = await runVitest(args.length > 0 ? args : TESTS, {
    node,
    env: { PATH: [dirname(node), process.env.PATH].join(delimiter) },
  });
});

/**
 * The program of a version, from npm's package of this platform, which has it whole and runs no script;
 * fetched once.
 * @param {string} version
 * @returns {Promise<string>}
 */
async function nodeOf(version) {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(ROOT, '.leadgate', `node-${version}`);
  const node = join(folder, 'node_modules', name, 'bin/node');
  if (existsSync(node)) return node;
  say(`fetching Node ${version}`);
  mkdirSync(folder, { recursive: true });
  const npm = spawn(
    'npm',
    [
      'install',
      '--prefix',
      folder,
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      `${name}@${version}`,
    ],
    { cwd: folder, stdio: ['ignore', process.stderr, process.stderr] },
  );
  const status = await new Promise((resolve) => npm.once('close', resolve));
  if (status === 0 && existsSync(node)) return node;
  throw new StartError(`could not fetch ${name}@${version} with npm: see its message above`);
}
