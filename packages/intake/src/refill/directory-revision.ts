import type { RedisConnection } from '@leadgate/boot';
import { LINKS, REVISION } from '../keys.ts';

/** The revision in Postgres that the directory in Redis is complete as of; null if it is not. */
export async function directoryRevision(redis: RedisConnection): Promise<number | null> {
  const revision = await redis.hget(LINKS, REVISION);
  return revision === null ? null : Number(revision);
}
