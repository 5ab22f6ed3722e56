import { setTimeout as delay } from 'node:timers/promises';
import { postLeads } from '../load/load.js';
import { startBoth, topOf } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {import('./bench.js').Figures} Figures */

/** A queue that grows by more than this part of what arrives does not stay flat. */
const FLAT = 0.02;

/**
 * The arrival rate at which the queue stays flat, by halving what is between a rate that does and one
 * that does not, receiver, worker and both servers on this machine.
 * @param {Bench} bench
 * @param {Figures} figures
 */
export async function measure(bench, figures) {
  const { plan, say } = bench;
  const { feeder, url, pids, drained, stop } = await startBoth(bench);
  const { connections, clients, known } = plan;
  const { seconds } = plan.search;
  await postLeads(url, { seconds: plan.seconds, connections, known }, pids);
  await drained();

  let [low, high] = [0, topOf(figures)];
  /** @type {Awaited<ReturnType<typeof postLeads>> | null} */
  let best = null;
  const steps = [];
  for (let step = 0; step < plan.search.steps; step++) {
    const rate = (low + high) / 2;
    const posting = postLeads(url, { seconds, connections: clients, known, rate }, pids);
    // The first part fills the groups; what counts is whether the queue grows after it.
    await delay((seconds * 1_000) / 2);
    const [half, at] = [await feeder.left(), performance.now()];
    await delay((seconds * 1_000) / 2);
    const growth = ((await feeder.left()) - half) / ((performance.now() - at) / 1_000);
    const measured = await posting;
    const grows = growth > FLAT * rate;
    const reached = measured.rate >= 0.9 * rate;
    const flat = !grows && reached;
    steps.push({ rate: measured.rate, growth, flat });
    const what = reached ? '' : ` of ${Math.round(rate).toString()}, which is not reached`;
    say(
      `  ${Math.round(measured.rate).toString()}/s${what}: the queue ${grows ? 'grows' : 'stays flat'} (${Math.round(growth).toString()}/s)`,
    );
    if (flat) {
      low = rate;
      // One that is asked for more may reach less.
      if (measured.rate > (best?.rate ?? 0)) best = measured;
    } else high = rate;
    await drained();
  }
  await stop();
  return {
    leadsPerSecond: best?.rate ?? 0,
    steps,
    cpuMicrosPerLead: best?.cpu.total ?? null,
    cpuByProcess: best?.cpu.byProcess ?? {},
    othersShareOfMachine: best?.cpu.othersShare ?? null,
    ms: best?.load.ms ?? null,
  };
}
