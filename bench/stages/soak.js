import { setTimeout as delay } from 'node:timers/promises';
import { residentMiB } from '../cpu.js';
import { postLeads } from '../load/load.js';
import { startBoth, sustainedOf } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */

/**
 * Memory of receiver and worker at the sustained rate: the slope of the second half, when the heaps
 * have found their size.
 * @param {Bench} bench
 * @param {import('./bench.js').Figures} before
 */
export async function measure(bench, before) {
  const { plan, say } = bench;
  const { receiver, worker, url, pids, drained, stop } = await startBoth(bench);
  const { seconds } = plan.soak;
  const every = Math.max(0.25, seconds / 120);
  /** @type {{ at: number, receiver: number, worker: number }[]} */
  const samples = [];
  const load = { ...plan, connections: plan.clients, seconds, rate: 0.9 * sustainedOf(before) };
  const posting = postLeads(url, load, pids);
  for (let at = 0; at < seconds; at += every) {
    await delay(every * 1_000);
    samples.push({ at, receiver: residentMiB(receiver.pid), worker: residentMiB(worker.pid) });
  }
  const measured = await posting;
  await drained();
  await stop();
  const later = samples.slice(samples.length / 2);
  const figures = {
    seconds,
    leads: measured.load.answers,
    statuses: measured.load.statuses,
    receiver: memory(later.map(({ at, receiver: mib }) => [at, mib])),
    worker: memory(later.map(({ at, worker: mib }) => [at, mib])),
  };
  for (const name of /** @type {const} */ (['receiver', 'worker']))
    say(
      `  ${name}: ${figures[name].mib.toFixed(0)} MiB, ${figures[name].mibPerMinute.toFixed(1)} MiB a minute over the second half of ${seconds.toString()} s`,
    );
  return figures;
}

/** @param {readonly [number, number][]} points seconds and MiB */
function memory(points) {
  const mean = (/** @type {number[]} */ values) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y] = [mean(points.map(([at]) => at)), mean(points.map(([, mib]) => mib))];
  const covariance = mean(points.map(([at, mib]) => (at - x) * (mib - y)));
  const variance = mean(points.map(([at]) => (at - x) ** 2));
  return { mib: y, mibPerMinute: (60 * covariance) / variance };
}
