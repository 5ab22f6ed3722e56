import type { RedisConnection } from '@leadgate/boot';
import { oldestOf, oldestAmong } from '../oldest-waiting.ts';
import { countsOf, sumOf, type QueueCounts } from '../queue-counts.ts';
import { withQueues } from '../with-queue.ts';

/** How a shard stands. */
export interface ShardStanding extends QueueCounts {
  shard: number;
  /** Whether producers write to it; others are left over from a larger QUEUE_SHARDS. */
  inUse: boolean;
  /** Null where none waits. */
  oldestWaitingMs: number | null;
}

/** How each shard stands, by number. Rejects when Redis does not answer. */
export function shardStandings(redis: RedisConnection): Promise<ShardStanding[]> {
  return withQueues(redis, async (queue, { shard, inUse }) => {
    const [counts, oldestWaitingMs] = await Promise.all([countsOf(queue), oldestOf(queue)]);
    return { shard, inUse, ...counts, oldestWaitingMs };
  });
}

/** How the queue stands as a whole. */
export function sumOfShards(
  shards: readonly ShardStanding[],
): QueueCounts & Pick<ShardStanding, 'oldestWaitingMs'> {
  const oldestWaitingMs = oldestAmong(shards.map((shard) => shard.oldestWaitingMs));
  return { ...sumOf(shards), oldestWaitingMs };
}
