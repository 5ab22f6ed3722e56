import type { RedisConnection } from '@leadgate/boot';
import type { Queue } from 'bullmq';
import { failedSubmissions } from './erase-jobs.ts';
import { withQueues } from './shards.ts';

/** Jobs of a worker's hands that are looked at. */
const MOST_ACTIVE = 1_000;

/**
 * When the oldest job was put in that waits, or that a worker has: what was put in before it came to an
 * end, or has a job of its own. Milliseconds since 1970, by the clocks of those who put in; null: there is
 * none. Rejects when Redis does not answer.
 */
export async function oldestUnfinished(redis: RedisConnection): Promise<number | null> {
  const times = (await withQueues(redis, timesOf)).flat();
  return times.length === 0 ? null : Math.min(...times);
}

async function timesOf(queue: Queue): Promise<number[]> {
  const found = await Promise.all([
    queue.getJobs(['wait'], 0, 0, true),
    queue.getJobs(['prioritized'], 0, 0, true),
    queue.getJobs(['active'], 0, MOST_ACTIVE, true),
  ]);
  // One that ends meanwhile is not there any more.
  return found.flat().flatMap((job) => (job as typeof job | undefined)?.timestamp ?? []);
}

/** Of submissions, those that have a job that failed, or that is tried again. */
export async function failedAmong(
  redis: RedisConnection,
  ids: ReadonlySet<string>,
): Promise<Set<string>> {
  if (ids.size === 0) return new Set();
  const found = await failedSubmissions(redis, ({ id }) => ids.has(id));
  return new Set(found.map(({ id }) => id));
}
