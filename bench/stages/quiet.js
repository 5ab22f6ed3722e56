import { told } from '../figures.js';
import { postLeads } from '../load/load.js';
import { byTurns, captureUrl, startBoth, startNaiveQueue } from './bench.js';
import { summary } from './receivers.js';

/** @typedef {import('./bench.js').Bench} Bench */

/** Posts a second that a landing page gets on an ordinary day; a multiple of the load's slices. */
const RATE = 120;

/**
 * How long a person waits when nobody runs at the limit, beside one `queue.add` a request, by turns.
 * @param {Bench} bench
 */
export async function measure(bench) {
  const { plan, naive, say } = bench;
  const { url, drained, stop } = await startBoth(bench);
  const naiveQueue = await startNaiveQueue(bench);
  const naiveUrl = captureUrl(naiveQueue, naive.database);
  /** @param {number} seconds */
  const variants = (seconds) => {
    const load = { seconds, connections: plan.clients, known: plan.known, rate: RATE };
    return {
      leadgate: () => postLeads(url, load, {}).finally(drained),
      naiveQueue: () => postLeads(naiveUrl, load, {}),
    };
  };
  await byTurns(1, variants(plan.warmSeconds));
  const measured = await byTurns(plan.rounds, variants(plan.seconds));
  await naiveQueue.stop();
  await stop();
  const figures = {
    leadgate: summary(measured.leadgate),
    naiveQueue: summary(measured.naiveQueue),
  };
  for (const [name, { p50Ms, p99Ms }] of Object.entries(figures))
    say(`  ${name}: p50 ${told(p50Ms, ' ms')}, p99 ${told(p99Ms, ' ms')}`);
  const { leadgate, naiveQueue: beside } = figures;
  const ratios = {
    p50: leadgate.p50Ms.median / beside.p50Ms.median,
    p99: leadgate.p99Ms.median / beside.p99Ms.median,
  };
  say(`  ratios: p50 ${ratios.p50.toFixed(2)}, p99 ${ratios.p99.toFixed(2)} (at most 3)`);
  return { leadsPerSecond: RATE, ...figures, ratios };
}
