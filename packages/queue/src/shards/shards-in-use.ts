import type { RedisConnection } from '@leadgate/boot';
import { readRegistry } from './registry.ts';

/**
 * How many shards producers write to now, for one that is not told: 1 where none has spoken lately.
 * Rejects when Redis does not answer.
 */
export async function shardsInUse(redis: RedisConnection): Promise<number> {
  const { shards } = await readRegistry(redis);
  const last = shards.findLast(({ inUse }) => inUse);
  return (last?.shard ?? 0) + 1;
}
