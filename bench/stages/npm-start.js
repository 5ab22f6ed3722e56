import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../scripts/launcher/apps.js';
import { ROOT } from '../../scripts/prepare.js';
import { processLedger } from '../../scripts/servers/private-home.js';
import { startPostgres } from '../../scripts/servers/postgres.js';
import { stopProcess } from '../../scripts/servers/process.js';
import { startRedis } from '../../scripts/servers/redis.js';
import { atMost, spread, told } from '../figures.js';
import { byTurns, SECRETS } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */

/** How many times as long as its processes alone a start may take. */
const AT_MOST = 3;

/**
 * How long `npm start` takes when nothing is to be installed or built and data is there, as a multiple of
 * starting the same six processes on the same data and nothing else, by turns.
 * @param {Bench} bench
 */
export async function measure({ plan, say }) {
  const home = mkdtempSync(join(tmpdir(), 'leadgate-start-'));
  try {
    await launcherSeconds(home);
    const { launcher, alone } = await byTurns(plan.rounds, {
      launcher: () => launcherSeconds(home),
      alone: () => aloneSeconds(home),
    });
    const figures = { launcher: spread(launcher), alone: spread(alone) };
    const ratio = figures.launcher.median / figures.alone.median;
    say(
      `  npm start again: ${told(figures.launcher, ' s')}, its processes: ${told(figures.alone, ' s')}`,
    );
    say(`  ratio ${ratio.toFixed(2)} (${atMost(ratio, AT_MOST)})`);
    return { ...figures, ratio, atMost: AT_MOST };
  } finally {
    const postgres = join(home, 'postgres');
    if (existsSync(postgres)) rmSync(realpathSync(postgres), { recursive: true, force: true });
    rmSync(home, { recursive: true, force: true });
  }
}

/** @param {string} home @returns {Promise<number>} seconds until it says where leads are taken */
async function launcherSeconds(home) {
  const start = performance.now();
  // Leads are made beside what runs, at the first start: it would be cut off.
  const settings = [`LEADGATE_HOME=${home}`, 'RECEIVER_PORT=0', 'CONSOLE_PORT=0', 'DEMO=off'];
  const child = spawn('env', [...settings, 'npm', 'start'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const end = () => child.kill('SIGTERM');
  process.once('exit', end);
  const ended = once(child, 'close').finally(() => process.off('exit', end));
  let output = '';
  /** @type {number | null} */
  let seconds = null;
  for await (const chunk of child.stdout) {
    output += String(chunk);
    if (seconds !== null || !output.includes('Ctrl-C stops it.')) continue;
    seconds = (performance.now() - start) / 1_000;
    end();
  }
  await ended;
  if (seconds === null) throw new Error('npm start did not start');
  return seconds;
}

/** @param {string} home @returns {Promise<number>} seconds until each says that it is ready */
async function aloneSeconds(home) {
  const log = join(home, 'alone.log');
  const say = () => undefined;
  const { add: onProcess } = await processLedger();
  const start = performance.now();
  const [postgres, redis] = await Promise.all([
    startPostgres({ home, log, say, onProcess }),
    startRedis({ home, log, say, onProcess }),
  ]);
  const env = { DATABASE_URL: postgres.url, REDIS_URL: redis.url };
  /** @type {import('../../scripts/servers/process.js').RunningProcess[]} */
  const started = [];
  /**
   * @param {'receiver' | 'worker' | 'deliverer' | 'console'} app
   * @param {NodeJS.ProcessEnv} [own]
   */
  const run = (app, own) =>
    startApp({
      ...{ app, log, env: { ...env, ...own } },
      onProcess: (one) => {
        onProcess(one);
        started.push(one);
      },
    });
  try {
    await Promise.all([
      run('worker'),
      run('deliverer', { SECRETS_KEY: SECRETS.SECRETS_KEY }),
      run('receiver', { DATABASE_URL: undefined, SPOOL_DIR: join(home, 'spool') }),
      run('console', { RECEIVER_URL: 'http://127.0.0.1', ...SECRETS }),
    ]);
    return (performance.now() - start) / 1_000;
  } finally {
    await Promise.all(started.map((one) => stopProcess(one, { timeoutMs: 5_000 })));
    await Promise.all([postgres.stop(), redis.stop()]);
  }
}
