import type { RedisConnection } from '@leadgate/boot';
import type { Queue } from 'bullmq';
import { withQueues } from './with-queue.ts';

/**
 * Milliseconds that the oldest waiting job has waited; null where none waits. Rejects when Redis
 * does not answer.
 */
export async function oldestWaiting(redis: RedisConnection): Promise<number | null> {
  const ages = await withQueues(redis, oldestOf);
  return ages.reduce((a, b) => (a === null ? b : Math.max(a, b ?? 0)), null);
}

export async function oldestOf(queue: Queue): Promise<number | null> {
  const [job] = await queue.getJobs('wait', 0, 0, true);
  return job === undefined ? null : Math.max(0, Date.now() - job.timestamp);
}
