import { setTimeout as delay } from 'node:timers/promises';
import { countCpu, cpuFigures } from '../cpu.js';
import { openFeeder, openNaiveFeeder } from '../feed.js';
import { spread, told } from '../figures.js';
import { startService } from '../processes.js';
import { refillRedis } from '../servers.js';
import { NOOP_QUEUE, QUEUE } from '../services/naive-job.js';
import { byTurns, CONCURRENCY, startNaiveWorker, startWorker, tellRates } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {import('../feed.js').Feeder} Feeder */
/** @typedef {{ rate: number, cpu: import('../cpu.js').Cpu }} Drained */

/** How often the queue is looked at. */
const LOOK_MS = 50;

/**
 * How fast a queue is worked off, by each worker in turn, round by round. The queue is filled while it
 * is paused, so that the worker is up and warm when the clock starts.
 * @param {Bench} bench
 */
export async function measure(bench) {
  const { plan, servers, leadgate, naive, say } = bench;
  const { log } = servers;
  await refillRedis(leadgate.redisUrl, leadgate.database);
  const [redis, postgres] = [servers.redis.pid, servers.postgres.pid];
  const settings = { redisUrl: naive.redisUrl, concurrency: CONCURRENCY };
  const running = {
    noop: {
      feeder: await openNaiveFeeder(naive.redisUrl, naive.database, NOOP_QUEUE),
      worker: await startService('noop-worker', log, settings),
    },
    naive: {
      feeder: await openNaiveFeeder(naive.redisUrl, naive.database, QUEUE),
      worker: await startNaiveWorker(bench),
    },
    leadgate: {
      feeder: await openFeeder(leadgate.redisUrl, leadgate.database),
      worker: await startWorker(bench),
    },
  };
  /** @param {keyof typeof running} name @param {Record<string, number>} pids of the servers that it uses */
  const drained = (name, pids) => {
    const { feeder, worker } = running[name];
    return drain(feeder, plan.jobs[name], { ...pids, worker: worker.pid });
  };
  const variants = {
    noop: () => drained('noop', { redis }),
    naive: () => drained('naive', { redis, postgres }),
    leadgate: () => drained('leadgate', { redis, postgres }),
  };
  // Warms the processes up, and is not counted.
  await byTurns(1, variants);
  const measured = await byTurns(plan.rounds, variants, tellRates(say));
  for (const { worker, feeder } of Object.values(running)) {
    await worker.stop();
    await feeder.close();
  }
  for (const [name, all] of Object.entries(measured))
    say(`  ${name}: ${told(spread(all.map((one) => one.rate)))} leads/s`);
  return {
    noop: drainSummary(measured.noop),
    naive: drainSummary(measured.naive),
    leadgate: drainSummary(measured.leadgate),
  };
}

/**
 * Fills the queue and measures how it empties.
 * @param {Feeder} feeder
 * @param {number} jobs
 * @param {Record<string, number>} pids
 * @returns {Promise<Drained>}
 */
export async function drain(feeder, jobs, pids) {
  await feeder.pause();
  await feeder.fill(jobs);
  const count = countCpu(pids);
  const start = performance.now();
  await feeder.resume();
  while ((await feeder.left()) > 0) await delay(LOOK_MS);
  return { rate: (jobs * 1_000) / (performance.now() - start), cpu: count.stop(jobs) };
}

/** @param {readonly Drained[]} drained */
export function drainSummary(drained) {
  return {
    leadsPerSecond: spread(drained.map((one) => one.rate)),
    ...cpuFigures(drained.map((one) => one.cpu)),
  };
}
