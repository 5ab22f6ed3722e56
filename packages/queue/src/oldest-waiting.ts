import type { RedisConnection } from '@leadgate/boot';
import type { Queue } from 'bullmq';
import { withQueues } from './with-queue.ts';

/**
 * Milliseconds that the oldest waiting job has waited; null where none waits. Rejects when Redis
 * does not answer.
 */
export async function oldestWaiting(redis: RedisConnection): Promise<number | null> {
  return oldestAmong(await withQueues(redis, oldestOf));
}

export function oldestAmong(ages: readonly (number | null)[]): number | null {
  const known = ages.filter((age) => age !== null);
  return known.length === 0 ? null : Math.max(...known);
}

export async function oldestOf(queue: Queue): Promise<number | null> {
  const [job] = await queue.getJobs('wait', 0, 0, true);
  return job === undefined ? null : Math.max(0, Date.now() - job.timestamp);
}
