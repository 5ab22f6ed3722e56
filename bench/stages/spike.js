import { openNaiveFeeder } from '../feed.js';
import { told } from '../figures.js';
import { postLeads } from '../load/load.js';
import { QUEUE } from '../services/naive-job.js';
import {
  byTurns,
  captureUrl,
  startBoth,
  startNaiveQueue,
  startNaiveWorker,
  sustainedOf,
  topOf,
} from './bench.js';
import { summary } from './receivers.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {import('../load/load.js').Measured} Measured */

/**
 * 80 % of what the receiver alone takes, while the worker runs; then what is left is worked off. And
 * half of what can be sustained, at which nobody should wait, by turns with a job a lead.
 * @param {Bench} bench
 * @param {import('./bench.js').Figures} figuresBefore
 */
export async function measure(bench, figuresBefore) {
  const { plan, say } = bench;
  const half = sustainedOf(figuresBefore) / 2;
  const { connections, clients, known } = plan;
  const ours = await startBoth(bench);
  const post = (/** @type {number} */ rate, seconds = plan.seconds) =>
    postLeads(ours.url, { seconds, connections: clients, known, rate }, ours.pids);

  // Warm, as a service is that has been up for a while.
  await postLeads(ours.url, { seconds: plan.seconds, connections, known }, ours.pids);
  await ours.drained();
  const spike = await post(0.8 * topOf(figuresBefore), plan.spike.seconds);
  const left = await ours.feeder.left();
  const drainSeconds = await ours.drained();

  const naive = await startNaive(bench);
  const measured = await byTurns(plan.rounds, {
    half: () => post(half).finally(ours.drained),
    halfJobALead: () => naive.post(half).finally(naive.drop),
  });
  await naive.stop();
  await ours.stop();
  say(`  spike at ${Math.round(spike.rate).toString()}/s: ${latencies(spike)}`);
  say(`  ${left.toString()} leads waited at its end, for ${drainSeconds.toFixed(1)} s`);
  const figures = {
    ...{ spike: facts(spike), left, drainSeconds },
    ...{ half: summary(measured.half), halfJobALead: summary(measured.halfJobALead) },
  };
  for (const name of /** @type {const} */ (['half', 'halfJobALead'])) {
    const { leadsPerSecond, p50Ms, p99Ms } = figures[name];
    const whose = name === 'half' ? 'half of sustained' : 'the same, a job a lead';
    say(
      `  ${whose}, ${told(leadsPerSecond)}/s: p50 ${told(p50Ms, ' ms')}, p99 ${told(p99Ms, ' ms')}`,
    );
  }
  return figures;
}

/**
 * The naive services, and what throws away what a round left in their queue: their worker does not keep up.
 * @param {Bench} bench
 */
async function startNaive(bench) {
  const { plan, naive } = bench;
  const queue = await startNaiveQueue(bench);
  const worker = await startNaiveWorker(bench);
  const feeder = await openNaiveFeeder(naive.redisUrl, naive.database, QUEUE);
  const { seconds, clients: connections, known } = plan;
  const url = captureUrl(queue, naive.database);
  return {
    post: (/** @type {number} */ rate) => postLeads(url, { seconds, connections, known, rate }, {}),
    drop: feeder.drop,
    stop: async () => {
      await worker.stop();
      await queue.stop();
      await feeder.close();
    },
  };
}

/** @param {Measured} measured */
function latencies({ load }) {
  const { p50, p99, max } = load.ms;
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(0)} ms, ${JSON.stringify(load.statuses)}`;
}

/** @param {Measured} measured */
function facts({ rate, load, cpu }) {
  const { ms, statuses, errors } = load;
  return { leadsPerSecond: rate, ms, statuses, errors, othersShareOfMachine: cpu.othersShare };
}
