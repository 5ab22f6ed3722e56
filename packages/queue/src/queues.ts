import type { RedisConnection } from '@leadgate/boot';
import { Queue } from 'bullmq';
import { notePaused, readRegistry, type Shard } from './shards.ts';

/** Every key of BullMQ starts with it. */
export const PREFIX = 'leadgate';

/** One queue a shard; braces, so that its keys share a slot of a Redis Cluster. */
export const queueName = (shard: number): string => `{leads-${shard}}`;

/** For looking at a queue, or putting in what is there already: nothing is written by opening it. */
export const LOOKING = {
  prefix: PREFIX,
  skipMetasUpdate: true,
  skipWaitingForReady: true,
  skipVersionCheck: true,
};

/** Opens the queue of a shard for looking at it. Leaves the connection open. */
export function openQueue(redis: RedisConnection, shard: number): Queue {
  const queue = new Queue(queueName(shard), { connection: redis, ...LOOKING });
  // BullMQ repeats the connection's own errors here; what is asked of it rejects by itself.
  queue.on('error', () => {});
  return queue;
}

/** Opens the queue of a shard, and closes it again. */
export async function withQueue<T>(
  redis: RedisConnection,
  shard: number,
  use: (queue: Queue) => Promise<T>,
): Promise<T> {
  const queue = openQueue(redis, shard);
  try {
    return await use(queue);
  } finally {
    await queue.close();
  }
}

/** The same for the queue of every shard that there is. */
export async function withQueues<T>(
  redis: RedisConnection,
  use: (queue: Queue, shard: Shard) => Promise<T>,
): Promise<T[]> {
  const { shards } = await readRegistry(redis);
  return Promise.all(shards.map((one) => withQueue(redis, one.shard, (queue) => use(queue, one))));
}

/**
 * Pauses the queue, all its shards, for every worker: leads are taken and wait. Jobs that run are
 * finished. Pausing again changes nothing. If it rejects, some shards may be paused: do it again.
 */
export async function pauseQueue(redis: RedisConnection): Promise<void> {
  // First: a shard that comes after the others were listed is paused by whoever registers it.
  await notePaused(redis, true);
  await withQueues(redis, (queue) => queue.pause());
}

/** Lets workers take jobs again. */
export async function resumeQueue(redis: RedisConnection): Promise<void> {
  await notePaused(redis, false);
  await withQueues(redis, (queue) => queue.resume());
}

/** For a shard that comes while the queue is paused: before anything is taken from it. */
export async function pauseShard(redis: RedisConnection, shard: number): Promise<void> {
  await withQueue(redis, shard, async (queue) => {
    if (await queue.isPaused()) return;
    await queue.pause();
    // Resumed meanwhile, perhaps before this shard was paused.
    if (!(await readRegistry(redis)).paused) await queue.resume();
  });
}
