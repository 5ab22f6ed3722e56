import { postLeads } from '../load/load.js';
import { startBoth } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */

/**
 * 80 % of what the receiver alone takes, while the worker runs; then what is left is worked off. And
 * half of what can be sustained, at which nobody should wait.
 * @param {Bench} bench
 * @param {{ top: number, sustained: number }} rates leads a second
 */
export async function measureSpike(bench, { top, sustained }) {
  const { plan, say } = bench;
  const { feeder, url, pids, drained, stop } = await startBoth(bench);
  const { connections, clients, known } = plan;
  const post = (/** @type {number} */ rate) =>
    postLeads(url, { seconds: plan.spike.seconds, connections: clients, known, rate }, pids);

  // Warm, as a service is that has been up for a while.
  await postLeads(url, { seconds: plan.seconds, connections, known }, pids);
  await drained();
  const spike = await post(0.8 * top);
  const left = await feeder.left();
  const drainSeconds = await drained();
  const half = await post(sustained / 2);
  await drained();

  await stop();
  say(`  spike at ${Math.round(spike.rate).toString()}/s: ${latencies(spike)}`);
  say(`  ${left.toString()} leads waited at its end, for ${drainSeconds.toFixed(1)} s`);
  say(`  half of sustained, ${Math.round(half.rate).toString()}/s: ${latencies(half)}`);
  return { spike: facts(spike), left, drainSeconds, half: facts(half) };
}

/** @param {import('../load/load.js').Measured} measured */
function latencies({ load }) {
  const { p50, p99, max } = load.ms;
  return `p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, max ${max.toFixed(0)} ms, ${JSON.stringify(load.statuses)}`;
}

/** @param {import('../load/load.js').Measured} measured */
function facts({ rate, load, cpu }) {
  const { ms, statuses, errors } = load;
  return { leadsPerSecond: rate, ms, statuses, errors, othersShareOfMachine: cpu.othersShare };
}
