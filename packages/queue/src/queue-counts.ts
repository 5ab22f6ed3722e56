import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { APPLY_QUEUE, PREFIX } from './queue-names.ts';

export interface QueueCounts {
  waiting: number;
  active: number;
  /** Waiting for their next attempt. */
  delayed: number;
  /** Out of attempts; kept until somebody retries or removes them. */
  failed: number;
}

/** How many jobs stand where. Rejects when Redis does not answer. */
export async function queueCounts(redis: Redis): Promise<QueueCounts> {
  const queue = new Queue(APPLY_QUEUE, {
    connection: redis,
    prefix: PREFIX,
    skipMetasUpdate: true,
    skipWaitingForReady: true,
    skipVersionCheck: true,
  });
  queue.on('error', () => {});
  try {
    return await countsOf(queue);
  } finally {
    await queue.close();
  }
}

export async function countsOf(queue: {
  getJobCounts: Queue['getJobCounts'];
}): Promise<QueueCounts> {
  const counts = await queue.getJobCounts('wait', 'active', 'delayed', 'failed');
  return {
    waiting: counts.wait ?? 0,
    active: counts.active ?? 0,
    delayed: counts.delayed ?? 0,
    failed: counts.failed ?? 0,
  };
}
