import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { APPLY_QUEUE, PREFIX } from './queue-names.ts';

/** Milliseconds that the oldest waiting job has waited; null where none waits. */
export async function oldestWaiting(redis: Redis): Promise<number | null> {
  const queue = new Queue(APPLY_QUEUE, {
    connection: redis,
    prefix: PREFIX,
    skipMetasUpdate: true,
    skipWaitingForReady: true,
    skipVersionCheck: true,
  });
  queue.on('error', () => {});
  try {
    const [job] = await queue.getJobs('wait', 0, 0, true);
    return job === undefined ? null : Math.max(0, Date.now() - job.timestamp);
  } finally {
    await queue.close();
  }
}
