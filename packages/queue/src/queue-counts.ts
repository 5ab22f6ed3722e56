import type { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { withQueue } from './with-queue.ts';

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

/** How many jobs stand where. Rejects when Redis does not answer. */
export function queueCounts(redis: Redis): Promise<QueueCounts> {
  return withQueue(redis, countsOf);
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
