import type { RedisConnection } from '@leadgate/boot';
import { notePaused, readRegistry } from './shards/registry.ts';
import { withQueue, withQueues } from './with-queue.ts';

/**
 * Pauses the queue, all its shards, for every worker: leads are taken and wait. Jobs that run are
 * finished. Pausing again changes nothing. Where it rejects, some shards may be paused: do it again.
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
