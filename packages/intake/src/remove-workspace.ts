import { mastersOf, type RedisConnection } from '@leadgate/boot';
import {
  limitsKey,
  REFILL_REQUESTS,
  REJECTED_BYTES,
  rejectedStream,
  REMOVED,
  stateKey,
  workspacePrefix,
} from './keys.ts';

const AT_ONCE = 1_000;

/** Takes all that Redis holds before the queue of a workspace and its links. Twice is harmless. */
export async function forgetWorkspace(
  redis: RedisConnection,
  { workspaceId, linkIds }: { workspaceId: string; linkIds: readonly string[] },
): Promise<void> {
  for (const node of mastersOf(redis)) {
    let cursor = '0';
    do {
      const [next, keys] = await node.scan(
        ...([cursor, 'MATCH', `${workspacePrefix(workspaceId)}*`, 'COUNT', AT_ONCE] as const),
      );
      if (keys.length > 0) await node.unlink(...keys);
      cursor = next;
    } while (cursor !== '0');
  }
  for (const linkId of linkIds) {
    const bytes = Number((await redis.hget(REJECTED_BYTES, linkId)) ?? 0);
    // One slot.
    await redis
      .multi()
      .unlink(rejectedStream(linkId))
      .hdel(REJECTED_BYTES, linkId)
      .hincrby(REJECTED_BYTES, 'all', -bytes)
      .exec();
  }
  await redis.srem(REFILL_REQUESTS, workspaceId);
}

/** For so long a spool is told: it asks again and again. A dump that brings the workspace back is not held up. */
const TOLD_SECONDS = 60;

/** Tells those who ask for a refill of workspaces that these were removed, and takes what their asking left. */
export async function tellRemoved(
  redis: RedisConnection,
  workspaceIds: readonly string[],
): Promise<void> {
  if (workspaceIds.length === 0) return;
  await redis.sadd(REMOVED, ...workspaceIds);
  await redis.expire(REMOVED, TOLD_SECONDS);
  for (const id of workspaceIds) await redis.unlink(stateKey(id), limitsKey(id));
  await redis.srem(REFILL_REQUESTS, ...workspaceIds);
}
