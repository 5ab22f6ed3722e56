import { setTimeout as delay } from 'node:timers/promises';
import { connectRedis } from '@leadgate/boot';
import { oldestWaiting } from '@leadgate/queue';
import { postLeads } from '../load/load.js';
import { simulate } from '../simulate.js';
import { startBoth, sustainedOf } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */
/** @typedef {import('./bench.js').Figures} Figures */

const LOOK_MS = 250;

/** So slow that its rate is its own, and not what the others leave to it of the machine. */
const SLOW = { WORKER_CONCURRENCY: '10', WORKER_GROUP_SIZE: '10', WORKER_GROUPS: '1' };

/** Of a day with a burst in it, made small: leads that arrive, of those that the worker can do. */
const DAY = [0.5, 2, 0.5];

/**
 * A burst as it is, beside what the model of docs/scale.md says of it from the worker's rate, which was
 * measured just before.
 * @param {Bench} bench
 * @param {Figures} figures
 */
export async function measure(bench, figures) {
  const { plan, leadgate, say } = bench;
  const sustained = sustainedOf(figures);
  const { feeder, url, drained: drain, stop } = await startBoth(bench, SLOW);
  const redis = connectRedis(leadgate.redisUrl, { role: 'admin' });
  const { clients: connections, known } = plan;
  const { seconds } = plan.burst;
  const post = (/** @type {number} */ rate) =>
    postLeads(url, { seconds, connections, known, rate }, {});

  // The worker's rate, while leads arrive faster than it can.
  await post(0.2 * sustained);
  await drain();
  const before = performance.now();
  const over = await post(0.7 * sustained);
  const left = await feeder.left();
  const workedOff = (over.load.answers - left) / ((performance.now() - before) / 1_000);
  await drain();

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
  for (const part of DAY) {
    const start = performance.now();
    const { load } = await post(part * workedOff);
    const took = (performance.now() - start) / 1_000;
    phases.push({ seconds: took, arrivals: load.answers / took, workedOff });
  }
  const drained = await drain();
  looking = false;
  await watching;
  redis.disconnect();
  await stop();

  const predicted = simulate(phases);
  const measured = { longest, oldestSeconds: oldestMs / 1_000, emptyAfterSeconds: drained };
  const tell = (/** @type {import('../simulate.js').Prediction} */ found) =>
    `${Math.round(found.longest).toString()} leads at most, the oldest for ${found.oldestSeconds.toFixed(1)} s, empty after ${found.emptyAfterSeconds.toFixed(1)} s`;
  say(`  a slow worker does ${Math.round(workedOff).toString()}/s`);
  say(`  predicted: ${tell(predicted)}`);
  say(`  measured: ${tell(measured)}`);
  return { phases, workedOff, predicted, measured };
}
