import type { RedisConnection } from '@leadgate/boot';
import type { LinkChangeSource, RefillSource } from '@leadgate/contract';
import { LINKS, LINKS_PREFIX, LINK_CHANGES, LINK_STEPS, RELOAD, REVISION } from '../keys.ts';
import { PUT_ENTRY, entryRevision, entryText, followLinks } from '../links/link-changes.ts';
import { startRefillRun, stepScript } from './refill-run.ts';

const CHUNK = 500;

/**
 * KEYS: links. ARGV: code, entry, the revision of the entry that was found before Postgres was read, …
 * What Redis had then is replaced, newer or not: it may be of a Postgres that was restored since.
 */
const putScript = stepScript(`${PUT_ENTRY}
for i = 1, #ARGV, 3 do
  local held = redis.call('HGET', KEYS[1], ARGV[i])
  if held and revision_of(held) == tonumber(ARGV[i + 2]) then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  else put(ARGV[i], ARGV[i + 1]) end
end`);

/** KEYS: links. ARGV: code, the revision of its entry that was found before Postgres was read, … */
const removeScript = stepScript(`${PUT_ENTRY}
for i = 1, #ARGV, 2 do
  if revision_of(redis.call('HGET', KEYS[1], ARGV[i])) == tonumber(ARGV[i + 1]) then
    redis.call('HDEL', KEYS[1], ARGV[i])
  end
end`);

/** KEYS: links, steps. ARGV: revision. */
const completeScript = stepScript(`redis.call('HSET', KEYS[1], '${REVISION}', ARGV[1])
redis.call('DEL', KEYS[2], run)`);

/**
 * Brings the link directory from Postgres to Redis and marks it complete as of `revision`, which must
 * have been read before. Returns how many codes there are. Throws when the source or Redis fails, or
 * Redis lost its data meanwhile; the marker is then as it was.
 *
 * An entry that was put meanwhile, and is newer than what is read here, stays. Codes that stood in Redis
 * before Postgres was read, and that Postgres does not have, are removed.
 */
export async function refillDirectory(
  redis: RedisConnection,
  source: Pick<RefillSource, 'links'>,
  revision: number,
): Promise<number> {
  const run = await startRefillRun(redis, LINKS_PREFIX);
  const found = await revisionsInRedis(redis);
  let codes = 0;
  for await (const page of source.links())
    for (let i = 0; i < page.length; i += CHUNK) {
      const chunk = page.slice(i, i + CHUNK);
      const entries = chunk.flatMap(({ code, link }) => [
        ...[code, entryText(link)],
        found.get(code) ?? -1,
      ]);
      await run.step(putScript, [LINKS], entries);
      for (const { code } of chunk) found.delete(code);
      codes += chunk.length;
    }
  const gone = [...found];
  for (let i = 0; i < gone.length; i += CHUNK)
    await run.step(removeScript, [LINKS], gone.slice(i, i + CHUNK).flat());
  await run.step(completeScript, [LINKS, LINK_STEPS], [revision]);
  await redis.publish(LINK_CHANGES, RELOAD);
  return codes;
}

/**
 * Brings what changed in Postgres since the revision that Redis is complete as of, or else all of it. Returns how
 * much; null if Redis has it, or another process was faster.
 */
export async function followDirectory(
  redis: RedisConnection,
  source: Pick<RefillSource, 'links' | 'directoryRevision'> & LinkChangeSource,
  found: number | null,
): Promise<{ links: number } | { changedLinks: number } | null> {
  const wanted = await source.directoryRevision();
  if (wanted === found) return null;
  const changes = found === null ? null : await source.linkChanges(found);
  if (found === null || changes === null)
    return { links: await refillDirectory(redis, source, wanted) };
  const followed = await followLinks(redis, found, changes);
  return followed ? { changedLinks: changes.entries.length } : null;
}

async function revisionsInRedis(redis: RedisConnection): Promise<Map<string, number>> {
  const revisions = new Map<string, number>();
  let cursor = '0';
  do {
    const [next, items] = await redis.hscan(LINKS, cursor, 'COUNT', CHUNK);
    for (let i = 0; i + 1 < items.length; i += 2) {
      const [code, text] = [items[i], items[i + 1]];
      if (code !== undefined && text !== undefined && code !== REVISION)
        revisions.set(code, entryRevision(text));
    }
    cursor = next;
  } while (cursor !== '0');
  return revisions;
}
