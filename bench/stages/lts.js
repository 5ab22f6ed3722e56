import { openFeeder } from '../feed.js';
import { postLeads } from '../load/load.js';
import { refillRedis } from '../servers.js';
import { byTurns, captureUrl, startReceiver, startWorker } from './bench.js';
import { summary } from './receivers.js';
import { drain, drainSummary } from './workers.js';
import { ltsNode } from '../../scripts/lts-node.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {{ node: string, redisUrl: string }} Place a Node, and a logical Redis for it */

/**
 * Leadgate's receiver and worker on the Node that runs this and on the current LTS, by turns.
 * @param {Bench} bench
 */
export async function measure(bench) {
  const here = { node: process.execPath, redisUrl: bench.leadgate.redisUrl };
  const lts = { node: await ltsNode(), redisUrl: bench.naive.redisUrl };
  return {
    receiver: await compare(
      bench,
      { here: await receiverOn(bench, here), lts: await receiverOn(bench, lts) },
      summary,
    ),
    worker: await compare(
      bench,
      { here: await workerOn(bench, here), lts: await workerOn(bench, lts) },
      drainSummary,
    ),
  };
}

/**
 * @template One
 * @template {{ leadsPerSecond: { median: number }, cpuMicrosPerLead: { median: number } }} Figures
 * @param {Bench} bench
 * @param {Record<'here' | 'lts', { once: (seconds: number) => Promise<One>, stop: () => Promise<void> }>} running
 * @param {(measured: One[]) => Figures} summary
 */
async function compare({ plan, say }, running, summary) {
  /** @param {number} seconds */
  const variants = (seconds) => ({
    here: () => running.here.once(seconds),
    lts: () => running.lts.once(seconds),
  });
  await byTurns(1, variants(plan.warmSeconds));
  const measured = await byTurns(plan.rounds, variants(plan.seconds));
  for (const { stop } of Object.values(running)) await stop();
  const figures = { here: summary(measured.here), lts: summary(measured.lts) };
  const ratio = {
    leadsPerSecond: figures.lts.leadsPerSecond.median / figures.here.leadsPerSecond.median,
    cpuPerLead: figures.lts.cpuMicrosPerLead.median / figures.here.cpuMicrosPerLead.median,
  };
  say(
    `  LTS ÷ ${process.version}: leads a second ${ratio.leadsPerSecond.toFixed(2)}, ` +
      `CPU a lead ${ratio.cpuPerLead.toFixed(2)}`,
  );
  return { ratio, ...figures };
}

/**
 * @param {Bench} bench
 * @param {Place} place
 */
async function receiverOn(bench, place) {
  const { plan, servers, leadgate } = bench;
  const { database } = leadgate;
  await refillRedis(place.redisUrl, database);
  const receiver = await startReceiver(bench, place);
  const url = captureUrl(receiver, database);
  const pids = { service: receiver.pid, redis: servers.redis.pid };
  return {
    once: (/** @type {number} */ seconds) =>
      postLeads(url, { ...plan, seconds }, pids).finally(() =>
        refillRedis(place.redisUrl, database),
      ),
    stop: receiver.stop,
  };
}

/**
 * @param {Bench} bench
 * @param {Place} place
 */
async function workerOn(bench, place) {
  const { plan, servers, leadgate } = bench;
  await refillRedis(place.redisUrl, leadgate.database);
  const feeder = await openFeeder(place.redisUrl, leadgate.database);
  const worker = await startWorker(bench, place);
  const pids = { worker: worker.pid, redis: servers.redis.pid, postgres: servers.postgres.pid };
  return {
    once: () => drain(feeder, plan.jobs.leadgate, pids),
    stop: async () => {
      await worker.stop();
      await feeder.close();
    },
  };
}
