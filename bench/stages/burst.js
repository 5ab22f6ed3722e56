import { setTimeout as delay } from 'node:timers/promises';
import { connectRedis } from '@leadgate/boot';
import { oldestWaiting } from '@leadgate/queue';
import { postLeads } from '../load/load.js';
import { simulate } from '../simulate.js';
import { startBoth } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */

const LOOK_MS = 250;

/** Of a day with a burst in it, made small: parts of what is sustained, and of the burst's length. */
const DAY = [
  { part: 0.4, length: 1 },
  { part: 1.6, length: 1 },
  { part: 0.6, length: 1 },
];

/**
 * A burst as it is, beside what the model of docs/scale.md says of it from two rates that were measured
 * just before: what the worker does while leads arrive faster than it can, and what it does alone.
 * @param {Bench} bench
 * @param {{ sustained: number }} rates leads a second
 */
export async function measureBurst(bench, { sustained }) {
  const { plan, leadgate, say } = bench;
  const { feeder, url, drained: drain, stop } = await startBoth(bench);
  const redis = connectRedis(leadgate.redisUrl, { role: 'admin' });
  const { clients: connections, known } = plan;
  const { seconds } = plan.burst;
  const post = (/** @type {number} */ part, /** @type {number} */ length) =>
    postLeads(url, { seconds: length, connections, known, rate: part * sustained }, {});

  // The two rates.
  await post(0.5, seconds / 2);
  await drain();
  const before = performance.now();
  const over = await post(1.6, seconds);
  const left = await feeder.left();
  const busy = Math.max(0, (over.load.answers - left) / ((performance.now() - before) / 1_000));
  const alone = left / Math.max(0.05, await drain());

  // The burst.
  let [longest, oldestMs, looking] = [0, 0, true];
  const look = async () => {
    while (looking) {
      longest = Math.max(longest, await feeder.left());
      oldestMs = Math.max(oldestMs, (await oldestWaiting(redis)) ?? 0);
      await delay(LOOK_MS);
    }
  };
  const watching = look();
  const phases = [];
  for (const { part, length } of DAY) {
    const start = performance.now();
    const { load } = await post(part, length * seconds);
    const took = (performance.now() - start) / 1_000;
    const arrivals = load.answers / took;
    // Where leads arrive slower than they are worked off, the worker waits for them.
    phases.push({ seconds: took, arrivals, workedOff: part > 1 ? busy : Math.max(busy, arrivals) });
  }
  const drained = await drain();
  looking = false;
  await watching;
  redis.disconnect();
  await stop();

  const predicted = simulate(phases);
  const measured = { longest, oldestSeconds: oldestMs / 1_000, emptyAfterSeconds: drained };
  const tell = (/** @type {import('../simulate.js').Prediction} */ found) =>
    `${Math.round(found.longest).toString()} leads at most, the oldest for ${found.oldestSeconds.toFixed(1)} s`;
  say(
    `  a worker does ${Math.round(busy).toString()}/s while leads arrive, ${Math.round(alone).toString()}/s alone`,
  );
  say(`  predicted: ${tell(predicted)}`);
  say(`  measured: ${tell(measured)}`);
  return { phases, busy, alone, predicted, measured };
}
