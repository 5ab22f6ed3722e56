import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { APPLY_QUEUE, PREFIX } from './queue-names.ts';

/** Opens the queue for looking at it only, and closes it again. Leaves the connection open. */
export async function withQueue<T>(redis: Redis, use: (queue: Queue) => Promise<T>): Promise<T> {
  const queue = new Queue(APPLY_QUEUE, {
    connection: redis,
    prefix: PREFIX,
    skipMetasUpdate: true,
    skipWaitingForReady: true,
    skipVersionCheck: true,
  });
  // BullMQ repeats the connection's own errors here; what is asked of it rejects by itself.
  queue.on('error', () => {});
  try {
    return await use(queue);
  } finally {
    await queue.close();
  }
}
