import type { RedisConnection } from '@leadgate/boot';
import { LINKS, REFILL_REQUESTS, REVISION, stateKey } from '../keys.ts';

/**
 * What has to be refilled: the directory when it is not marked complete (compare `directoryRevision`
 * with Postgres's for whether it is also up to date); of the workspaces that receivers asked for and
 * those given, the ones that are not open.
 */
export async function refillNeeds(
  redis: RedisConnection,
  workspaceIds: readonly string[] = [],
): Promise<{ directory: boolean; workspaces: string[] }> {
  const requested = await redis.smembers(REFILL_REQUESTS);
  const asked = [...new Set([...requested, ...workspaceIds])];
  const open = await Promise.all(asked.map((id) => redis.hexists(stateKey(id), 'open')));
  const met = requested.filter((_, i) => open[i] === 1);
  if (met.length > 0) await redis.srem(REFILL_REQUESTS, ...met);
  return {
    directory: (await directoryRevision(redis)) === null,
    workspaces: asked.filter((_, i) => open[i] !== 1),
  };
}

/** The revision in Postgres that the directory in Redis is complete as of; null where it is not. */
export async function directoryRevision(redis: RedisConnection): Promise<number | null> {
  const revision = await redis.hget(LINKS, REVISION);
  return revision === null ? null : Number(revision);
}
