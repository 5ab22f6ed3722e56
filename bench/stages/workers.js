import { setTimeout as delay } from 'node:timers/promises';
import { countCpu } from '../cpu.js';
import { openFeeder, openNaiveFeeder } from '../feed.js';
import { spread, told } from '../figures.js';
import { startService } from '../processes.js';
import { refillRedis } from '../servers.js';
import { NOOP_QUEUE, QUEUE } from '../services/naive-job.js';
import { CONCURRENCY, CORES, startNaiveWorker, startWorker } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {import('../feed.js').Feeder} Feeder */
/** @typedef {{ rate: number, cpu: ReturnType<ReturnType<typeof countCpu>['stop']> }} Drained */

/** How often the queue is looked at. */
const LOOK_MS = 50;

/**
 * How fast a queue is worked off, by each worker in turn, round by round. The queue is filled while it
 * is paused, so that the worker is up and warm when the clock starts.
 * @param {Bench} bench
 */
export async function measureWorkers(bench) {
  const { plan, servers, leadgate, naive, say } = bench;
  const { log } = servers;
  await refillRedis(leadgate.redisUrl, leadgate.database);
  const { redis, postgres } = servers;
  const settings = { redisUrl: naive.redisUrl, concurrency: CONCURRENCY };
  const variants = {
    noop: {
      feeder: await openNaiveFeeder(naive.redisUrl, naive.database, NOOP_QUEUE),
      worker: await startService('noop-worker', { log, settings }),
      servers: { redis: redis.pid },
    },
    naive: {
      feeder: await openNaiveFeeder(naive.redisUrl, naive.database, QUEUE),
      worker: await startNaiveWorker(bench),
      servers: { redis: redis.pid, postgres: postgres.pid },
    },
    leadgate: {
      feeder: await openFeeder(leadgate.redisUrl, leadgate.database),
      worker: await startWorker(bench),
      servers: { redis: redis.pid, postgres: postgres.pid },
    },
  };
  /** @type {Record<keyof typeof variants, Drained[]>} */
  const drained = { noop: [], naive: [], leadgate: [] };
  const names = /** @type {(keyof typeof variants)[]} */ (Object.keys(variants));
  // The first round warms the processes up, and is not counted.
  for (let i = 0; i <= plan.rounds; i++) {
    for (const name of names) {
      const { feeder, worker, servers: pids } = variants[name];
      const one = await drain(feeder, plan.jobs[name], { ...pids, worker: worker.pid });
      if (i > 0) drained[name].push(one);
    }
    if (i > 0)
      say(
        `  round ${i.toString()}: ${names
          .map((name) => `${name} ${Math.round(drained[name].at(-1)?.rate ?? 0).toString()}/s`)
          .join(', ')}`,
      );
  }
  for (const { worker, feeder } of Object.values(variants)) {
    await worker.stop();
    await feeder.close();
  }
  for (const name of names)
    say(`  ${name}: ${told(spread(drained[name].map((one) => one.rate)))} leads/s`);
  const figures = Object.fromEntries(names.map((name) => [name, drainSummary(drained[name])]));
  return /** @type {Record<keyof typeof variants, ReturnType<typeof drainSummary>>} */ (figures);
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
  return {
    rate: (jobs * 1_000) / (performance.now() - start),
    cpu: count.stop(jobs, CORES),
  };
}

/** @param {readonly Drained[]} drained */
export function drainSummary(drained) {
  const names = Object.keys(drained[0]?.cpu.byProcess ?? {});
  return {
    leadsPerSecond: spread(drained.map((one) => one.rate)),
    cpuMicrosPerLead: spread(drained.map((one) => one.cpu.total)),
    cpuByProcess: Object.fromEntries(
      names.map((name) => [
        name,
        spread(drained.map((one) => one.cpu.byProcess[name] ?? 0)).median,
      ]),
    ),
    othersShareOfMachine: spread(drained.map((one) => one.cpu.othersShare)),
  };
}
