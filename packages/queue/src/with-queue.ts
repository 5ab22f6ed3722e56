import type { RedisConnection } from '@leadgate/boot';
import { Queue } from 'bullmq';
import { PREFIX, queueName } from './queue-names.ts';
import { readRegistry, type Shard } from './shards/registry.ts';

/** Opens the queue of a shard for looking at it only. Leaves the connection open. */
export function openQueue(redis: RedisConnection, shard: number): Queue {
  const queue = new Queue(queueName(shard), {
    connection: redis,
    prefix: PREFIX,
    skipMetasUpdate: true,
    skipWaitingForReady: true,
    skipVersionCheck: true,
  });
  // BullMQ repeats the connection's own errors here; what is asked of it rejects by itself.
  queue.on('error', () => {});
  return queue;
}

/** Opens the queue of a shard, and closes it again. */
export async function withQueue<T>(
  redis: RedisConnection,
  shard: number,
  use: (queue: Queue) => Promise<T>,
): Promise<T> {
  const queue = openQueue(redis, shard);
  try {
    return await use(queue);
  } finally {
    await queue.close();
  }
}

/** The same for the queue of every shard that there is. */
export async function withQueues<T>(
  redis: RedisConnection,
  use: (queue: Queue, shard: Shard) => Promise<T>,
): Promise<T[]> {
  const { shards } = await readRegistry(redis);
  return Promise.all(shards.map((one) => withQueue(redis, one.shard, (queue) => use(queue, one))));
}
