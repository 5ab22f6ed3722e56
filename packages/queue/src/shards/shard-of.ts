/**
 * The shard of a lead's jobs where there are `shards` of them: the last 32 bits of its id (a UUID,
 * which ends in random ones) modulo that. All jobs of a lead are in one, so that no two transactions
 * wait for the same lead's row where each worker takes some shards; nothing else depends on it.
 */
export function shardOf(leadId: string, shards: number): number {
  return shards === 1 ? 0 : Number.parseInt(leadId.slice(-8), 16) % shards;
}
