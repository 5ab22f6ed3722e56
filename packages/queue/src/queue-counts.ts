import type { RedisConnection } from '@leadgate/boot';
import type { Queue } from 'bullmq';
import { withQueues } from './with-queue.ts';

export interface QueueCounts {
  /** Those in the background, of imports and replays, counted in. */
  waiting: number;
  /** Of those waiting, the ones in the background. */
  background: number;
  active: number;
  /** Waiting for their next attempt. */
  delayed: number;
  /** Out of attempts; kept until somebody retries or removes them. */
  failed: number;
  /** Whether an operator has paused the queue: no worker takes jobs. */
  paused: boolean;
}

/** How many jobs stand where, in all shards. Rejects when Redis does not answer. */
export async function queueCounts(redis: RedisConnection): Promise<QueueCounts> {
  return sumOf(await withQueues(redis, countsOf));
}

/** Paused as a whole where a part of it is. */
export function sumOf(counts: readonly QueueCounts[]): QueueCounts {
  const sum = (count: (one: QueueCounts) => number): number =>
    counts.reduce((total, one) => total + count(one), 0);
  return {
    waiting: sum(({ waiting }) => waiting),
    background: sum(({ background }) => background),
    active: sum(({ active }) => active),
    delayed: sum(({ delayed }) => delayed),
    failed: sum(({ failed }) => failed),
    paused: counts.some(({ paused }) => paused),
  };
}

export async function countsOf(
  queue: Pick<Queue, 'getJobCounts' | 'isPaused'>,
): Promise<QueueCounts> {
  const [counts, paused] = await Promise.all([
    queue.getJobCounts('wait', 'prioritized', 'active', 'delayed', 'failed'),
    queue.isPaused(),
  ]);
  return {
    paused,
    waiting: (counts.wait ?? 0) + (counts.prioritized ?? 0),
    background: counts.prioritized ?? 0,
    active: counts.active ?? 0,
    delayed: counts.delayed ?? 0,
    failed: counts.failed ?? 0,
  };
}
