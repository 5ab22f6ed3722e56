import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CLI } from '../../scripts/launcher/apps.js';
import { atMost, spread } from '../figures.js';
import { byTurns } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */

const execute = promisify(execFile);

/** How many times as long as `node -e 0` each may take. */
const AT_MOST = { version: 3, help: 3, leadFind: 6 };

/**
 * How long a command line takes from its start to its end, as a multiple of `node -e 0`: by turns, in
 * time and in CPU. The CPU's is the one to compare: other work on the machine touches it less.
 * @param {Bench} bench
 */
export async function measure({ plan, leadgate: { database }, say }) {
  const env = { DATABASE_URL: database.url };
  const commands = {
    node: ['-e', '0'],
    version: [CLI, '--version'],
    help: [CLI, '--help'],
    leadFind: [CLI, 'lead', 'find', '--email', 'nobody@example.com'],
  };
  const variants = Object.fromEntries(
    Object.entries(commands).map(([name, args]) => [name, () => run(args, env)]),
  );
  // The first reads files that the others find in memory.
  await byTurns(1, variants);
  const taken = await byTurns(5 * plan.rounds, variants);
  const figures = Object.entries(taken).map(([name, runs]) => ({
    name,
    ms: spread(runs.map(({ ms }) => ms)),
    cpuMs: runs.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / runs.length,
  }));
  const [node, ...others] = figures;
  const ratios = others.map(({ name, ms, cpuMs }) => ({
    name,
    time: ms.median / (node?.ms.median ?? NaN),
    cpu: cpuMs / (node?.cpuMs ?? NaN),
    atMost: AT_MOST[/** @type {keyof typeof AT_MOST} */ (name)],
  }));
  for (const { name, time, cpu, atMost: most } of ratios)
    say(
      `  ${name} ÷ node -e 0: ${cpu.toFixed(1)} in CPU (${atMost(cpu, most)}), ${time.toFixed(1)} in time`,
    );
  return { figures, ratios };
}

/**
 * By a shell, which learns from the kernel what the process used, to the millisecond; Node does not
 * tell it, and /proc counts in steps that are too large.
 * @param {string[]} args
 * @param {NodeJS.ProcessEnv} env
 * @returns {Promise<{ ms: number, cpuMs: number }>}
 */
async function run(args, env) {
  const timed = 'TIMEFORMAT="%R %U %S"; { time "$@" >&2; } 2>&1';
  const { stdout } = await execute('bash', ['-c', timed, 'bash', process.execPath, ...args], {
    env: { ...env, LC_ALL: 'C' },
  });
  const [seconds = NaN, user = NaN, system = NaN] =
    stdout.trim().split('\n').at(-1)?.split(' ').map(Number) ?? [];
  return { ms: 1_000 * seconds, cpuMs: 1_000 * (user + system) };
}
