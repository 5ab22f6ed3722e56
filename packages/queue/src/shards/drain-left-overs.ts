import type { RedisConnection } from '@leadgate/boot';
import { redisScript } from '@leadgate/boot';
import type { Queue } from 'bullmq';
import { withQueue } from '../with-queue.ts';
import { countsOf, type QueueCounts } from '../queue-counts.ts';
import { moveFailed } from './move-failed.ts';
import { readRegistry, unregisterShard } from './registry.ts';

/** A shard that nobody writes to any more, on its way out. */
export interface LeftOver extends QueueCounts {
  shard: number;
  /** Failed jobs that were moved to the shard of their lead in this round. */
  moved: number;
  /** Whether it was empty, and is no more. */
  gone: boolean;
}

export type DrainRound =
  /** One that is not gone waits for workers, or for those who hold its jobs. */
  | { kind: 'left-overs'; leftOvers: LeftOver[] }
  /** No producer has spoken lately: which shards are left over cannot be told. */
  | { kind: 'nobody-writes' };

/**
 * One round of letting go of the shards that are left over from a larger QUEUE_SHARDS: moves their
 * failed jobs, as they are, to the shard that their lead has now, and takes those off that are empty.
 * To be called until none is left; to be cut off and begun again loses nothing. Rejects when Redis
 * fails, and when fewer than `waitReplicas` have what was moved.
 */
export async function drainLeftOvers(
  redis: RedisConnection,
  { waitReplicas = 0 }: { waitReplicas?: number } = {},
): Promise<DrainRound> {
  const { shards } = await readRegistry(redis);
  const last = shards.findLast(({ inUse }) => inUse);
  if (last === undefined) return { kind: 'nobody-writes' };
  const into = last.shard + 1;
  const leftOvers: LeftOver[] = [];
  for (const { shard, inUse } of shards) {
    // The first is there for good.
    if (inUse || shard === 0) continue;
    leftOvers.push(
      await withQueue(redis, shard, async (queue) => {
        const moved = await moveFailed(redis, queue, { into, replicas: waitReplicas });
        const gone = (await clear(redis, queue)) && (await unregisterShard(redis, shard));
        return { shard, moved, gone, ...(await countsOf(queue)) };
      }),
    );
  }
  return { kind: 'left-overs', leftOvers };
}

/** KEYS: what holds jobs; then, from the number in ARGV, what is left of an empty queue. */
const clearScript = redisScript(`#!lua
local rest = tonumber(ARGV[1])
for i = 1, rest - 1 do
  if redis.call('EXISTS', KEYS[i]) == 1 then return 0 end
end
for i = rest, #KEYS do redis.call('DEL', KEYS[i]) end
return 1`);

const HOLD_JOBS = [
  ...['wait', 'paused', 'active', 'delayed', 'prioritized'],
  ...['waiting-children', 'completed', 'failed'],
];
const REST = ['id', 'meta', 'events', 'marker', 'pc', 'stalled', 'stalled-check', 'limiter'];

/** Whether it was empty. A paused one is also not cleared before it is resumed. */
async function clear(redis: RedisConnection, queue: Queue): Promise<boolean> {
  const keys = [...HOLD_JOBS, ...REST].map((name) => queue.toKey(name));
  return (await clearScript(redis, keys, [HOLD_JOBS.length + 1])) === 1;
}
