import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { spread } from '../figures.js';

/** @typedef {import('./bench.js').Bench} Bench */

const execute = promisify(execFile);

const leadgate = fileURLToPath(new URL('../../apps/cli/bin/leadgate.js', import.meta.url));

/** How many times as long as `node -e 0` each may take. */
const AT_MOST = { version: 3, help: 3, leadFind: 6 };

/**
 * How long a command line takes from its start to its end, as a multiple of `node -e 0`: by turns, in
 * time and in CPU. The CPU's is the one to compare: other work on the machine touches it less.
 * @param {Bench} bench
 */
export async function measureStart({ plan, leadgate: { database }, say }) {
  const env = { DATABASE_URL: database.url };
  const commands = {
    node: ['-e', '0'],
    version: [leadgate, '--version'],
    help: [leadgate, '--help'],
    leadFind: [leadgate, 'lead', 'find', '--email', 'nobody@example.com'],
  };
  const taken = Object.entries(commands).map(([name, args]) => ({
    ...{ name, args, cpuMs: 0 },
    ms: /** @type {number[]} */ ([]),
  }));
  const turns = 5 * plan.rounds;
  for (let turn = 0; turn <= turns; turn++)
    for (const one of taken) {
      const { ms, cpuMs } = await run(one.args, env);
      // The first reads files that the others find in memory.
      if (turn === 0) continue;
      one.ms.push(ms);
      one.cpuMs += cpuMs / turns;
    }
  const figures = taken.map(({ name, ms, cpuMs }) => ({ name, ms: spread(ms), cpuMs }));
  const [node, ...others] = figures;
  const ratios = others.map(({ name, ms, cpuMs }) => ({
    name,
    time: ms.median / (node?.ms.median ?? NaN),
    cpu: cpuMs / (node?.cpuMs ?? NaN),
    atMost: AT_MOST[/** @type {keyof typeof AT_MOST} */ (name)],
  }));
  for (const { name, time, cpu, atMost } of ratios)
    say(
      `  ${name} ÷ node -e 0: ${cpu.toFixed(1)} in CPU (at most ${atMost.toString()}${cpu > atMost ? ': MISSED' : ''}), ${time.toFixed(1)} in time`,
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
