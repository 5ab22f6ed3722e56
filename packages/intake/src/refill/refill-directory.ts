import type { RedisConnection } from '@leadgate/boot';
import type { RefillSource } from '@leadgate/contract';
import { LINKS, LINKS_PREFIX, LINK_CHANGES, RELOAD, REVISION } from '../keys.ts';
import { startRefillRun, stepScript } from './refill-run.ts';

const CHUNK = 500;

/** KEYS: links. ARGV: code, entry, … */
const putScript = stepScript(`redis.call('HSET', KEYS[1], unpack(ARGV))`);

/** KEYS: links. ARGV: code, … */
const removeScript = stepScript(`redis.call('HDEL', KEYS[1], unpack(ARGV))`);

/** KEYS: links. ARGV: revision. */
const completeScript = stepScript(`redis.call('HSET', KEYS[1], '${REVISION}', ARGV[1])
redis.call('DEL', run)`);

/**
 * Brings the link directory from Postgres to Redis and marks it complete as of `revision`, which must
 * have been read before. Returns how many codes there are. Throws when the source or Redis fails, or
 * Redis lost its data meanwhile; the marker is then as it was.
 *
 * An entry that changed after it was read here is put back to what was read, until the next refill:
 * that change counted the revision up, so the worker sees that this one is behind. Codes that stood
 * in Redis before Postgres was read, and that Postgres does not have, are removed.
 */
export async function refillDirectory(
  redis: RedisConnection,
  source: RefillSource,
  revision: number,
): Promise<number> {
  const run = await startRefillRun(redis, LINKS_PREFIX);
  const strangers = await codesInRedis(redis);
  let codes = 0;
  for await (const page of source.links())
    for (let i = 0; i < page.length; i += CHUNK) {
      const chunk = page.slice(i, i + CHUNK);
      const entries = chunk.flatMap(({ code, link }) => [code, JSON.stringify(link)]);
      await run.step(putScript, [LINKS], entries);
      for (const { code } of chunk) strangers.delete(code);
      codes += chunk.length;
    }
  const gone = [...strangers];
  for (let i = 0; i < gone.length; i += CHUNK)
    await run.step(removeScript, [LINKS], gone.slice(i, i + CHUNK));
  await run.step(completeScript, [LINKS], [revision]);
  await redis.publish(LINK_CHANGES, RELOAD);
  return codes;
}

async function codesInRedis(redis: RedisConnection): Promise<Set<string>> {
  const codes = new Set<string>();
  let cursor = '0';
  do {
    const [next, items] = await redis.hscan(LINKS, cursor, 'COUNT', CHUNK);
    for (let i = 0; i < items.length; i += 2) {
      const code = items[i];
      if (code !== undefined && code !== REVISION) codes.add(code);
    }
    cursor = next;
  } while (cursor !== '0');
  return codes;
}
