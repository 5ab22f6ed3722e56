import { spawn } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, say } from './prepare.js';
import { StartError } from './servers/process.js';

/** The current long-term support of Node, which the image runs on. */
const LTS = '24.22.3';

/**
 * Its program, from npm's package of this platform, which has it whole and runs no script; fetched
 * once.
 * @returns {Promise<string>}
 */
export async function ltsNode() {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(ROOT, '.leadgate', `node-${LTS}`);
  const node = join(folder, 'node_modules', name, 'bin/node');
  if (existsSync(node)) return node;
  say(`fetching Node ${LTS}`);
  mkdirSync(folder, { recursive: true });
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund'];
  const npm = spawn('npm', ['install', '--prefix', folder, ...flags, `${name}@${LTS}`], {
    cwd: folder,
    stdio: ['ignore', process.stderr, process.stderr],
  });
  const status = await new Promise((resolve) => npm.once('close', resolve));
  if (status === 0 && existsSync(node)) return node;
  throw new StartError(`could not fetch ${name}@${LTS} with npm: see its message above`);
}
