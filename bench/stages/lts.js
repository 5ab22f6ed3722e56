import { openFeeder } from '../feed.js';
import { postLeads } from '../load/load.js';
import { refillRedis } from '../servers.js';
import { captureUrl, startReceiver, startWorker } from './bench.js';
import { summary } from './receivers.js';
import { drain, drainSummary } from './workers.js';
import { ltsNode } from '../../scripts/lts-node.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {'here' | 'lts'} Variant */

/**
 * Leadgate's receiver and worker on the Node that runs this and on the current LTS, by turns.
 * @param {Bench} bench
 */
export async function measureLts(bench) {
  const node = { here: process.execPath, lts: await ltsNode() };
  return {
    receiver: await compare(bench, node, receiverOn),
    worker: await compare(bench, node, workerOn),
  };
}

/**
 * @template {{ leadsPerSecond: { median: number }, cpuMicrosPerLead: { median: number } }} Figures
 * @param {Bench} bench
 * @param {Record<Variant, string>} node
 * @param {(bench: Bench, on: { node: string, redisUrl: string }) => Promise<Process<Figures>>} start
 */
async function compare(bench, node, start) {
  const { plan, naive, leadgate, say } = bench;
  /** @param {Variant} variant a logical Redis each */
  const on = (variant) => ({
    node: node[variant],
    redisUrl: (variant === 'here' ? leadgate : naive).redisUrl,
  });
  const here = await start(bench, on('here'));
  const lts = await start(bench, on('lts'));
  for (let i = 0; i <= plan.rounds; i++) {
    await here.round(i > 0);
    await lts.round(i > 0);
  }
  await here.stop();
  await lts.stop();
  const figures = { here: here.summary(), lts: lts.summary() };
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
 * @template Figures
 * @typedef {object} Process
 * @property {(counts: boolean) => Promise<void>} round measures once; the first warms up
 * @property {() => Figures} summary
 * @property {() => Promise<void>} stop
 */

/**
 * @param {Bench} bench
 * @param {{ node: string, redisUrl: string }} on
 */
async function receiverOn(bench, on) {
  const { plan, servers, leadgate } = bench;
  const { database } = leadgate;
  await refillRedis(on.redisUrl, database);
  const receiver = await startReceiver(bench, on);
  const pids = { service: receiver.pid, redis: servers.redis.pid };
  /** @type {import('../load/load.js').Measured[]} */
  const measured = [];
  return {
    round: async (/** @type {boolean} */ counts) => {
      const seconds = counts ? plan.seconds : plan.warmSeconds;
      const one = await postLeads(captureUrl(receiver, database), { ...plan, seconds }, pids);
      if (counts) measured.push(one);
      await refillRedis(on.redisUrl, database);
    },
    summary: () => summary(measured),
    stop: receiver.stop,
  };
}

/**
 * @param {Bench} bench
 * @param {{ node: string, redisUrl: string }} on
 */
async function workerOn(bench, on) {
  const { plan, servers, leadgate } = bench;
  await refillRedis(on.redisUrl, leadgate.database);
  const feeder = await openFeeder(on.redisUrl, leadgate.database);
  const worker = await startWorker(bench, on);
  const pids = { worker: worker.pid, redis: servers.redis.pid, postgres: servers.postgres.pid };
  /** @type {import('./workers.js').Drained[]} */
  const drained = [];
  return {
    round: async (/** @type {boolean} */ counts) => {
      const one = await drain(feeder, plan.jobs.leadgate, pids);
      if (counts) drained.push(one);
    },
    summary: () => drainSummary(drained),
    stop: async () => {
      await worker.stop();
      await feeder.close();
    },
  };
}
