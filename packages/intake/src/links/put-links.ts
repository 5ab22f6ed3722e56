import type { RedisConnection } from '@leadgate/boot';
import type { CaptureLink } from '@leadgate/contract';
import { LINKS, LINK_CHANGES } from '../keys.ts';
import { entryText, putScript } from './link-changes.ts';

const CHUNK = 500;

/**
 * Writes entries of the link directory, but over none that is newer, and tells every receiver. Call it after the commit in
 * Postgres; should it fail, the directory's revision is behind and the worker follows.
 */
export async function putLinks(
  redis: RedisConnection,
  entries: readonly { code: string; link: CaptureLink }[],
): Promise<void> {
  for (let i = 0; i < entries.length; i += CHUNK) {
    const chunk = entries.slice(i, i + CHUNK);
    const texts = chunk.flatMap(({ code, link }) => [code, entryText(link)]);
    await putScript(redis, [LINKS], texts);
    await redis.publish(LINK_CHANGES, chunk.map(({ code }) => code).join(','));
  }
}
