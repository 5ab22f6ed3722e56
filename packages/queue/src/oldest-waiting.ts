import type { Redis } from 'ioredis';
import { withQueue } from './with-queue.ts';

/**
 * Milliseconds that the oldest waiting job has waited; null where none waits. Rejects when Redis
 * does not answer.
 */
export function oldestWaiting(redis: Redis): Promise<number | null> {
  return withQueue(redis, async (queue) => {
    const [job] = await queue.getJobs('wait', 0, 0, true);
    return job === undefined ? null : Math.max(0, Date.now() - job.timestamp);
  });
}
