import type { RedisConnection } from '@leadgate/boot';
import type { CaptureLink } from '@leadgate/contract';
import { LINKS, LINK_CHANGES } from '../keys.ts';

const CHUNK = 500;

/**
 * Writes entries of the link directory and tells every receiver. Call it after the commit in
 * Postgres; should it fail, the directory's revision is behind and the worker refills it.
 */
export async function putLinks(
  redis: RedisConnection,
  entries: readonly { code: string; link: CaptureLink }[],
): Promise<void> {
  for (let i = 0; i < entries.length; i += CHUNK) {
    const chunk = entries.slice(i, i + CHUNK);
    await redis.hset(LINKS, ...chunk.flatMap(({ code, link }) => [code, JSON.stringify(link)]));
    await redis.publish(LINK_CHANGES, chunk.map(({ code }) => code).join(','));
  }
}
