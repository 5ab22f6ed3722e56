import { mastersOf, type RedisConnection } from '@leadgate/boot';
import { packUuid, type RejectedBody, unpackUuid } from '@leadgate/contract';
import {
  claimsKey,
  identitiesKey,
  identityRef,
  limitsKey,
  recordKey,
  REFILL_REQUESTS,
  REJECTED_BYTES,
  rejectedStream,
  REMOVED,
  script,
  stateKey,
  workspacePrefix,
} from './keys.ts';
import { readRejectedBody, removeRejected } from './rejected.ts';
import { RECORD_ORDER } from './reservation/reserve-script.ts';

/** The lead that Redis says owns each identity, whether or not it has a row. */
export async function ownersInRedis(
  redis: RedisConnection,
  workspaceId: string,
  identities: readonly string[],
): Promise<string[]> {
  const owners = await Promise.all(
    identities.map((key) => {
      const { bucket, field } = identityRef(key);
      return redis.hget(identitiesKey(workspaceId, bucket), field);
    }),
  );
  return owners.flatMap((owner) => (owner === null ? [] : unpackUuid(owner)));
}

/** KEYS: state. Returns the order, as text. */
const takeOrderScript = script(`
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local held = redis.call('HMGET', KEYS[1], 'clock', 'floor')
local order = string.format('%.0f', math.max(now, (held[1] or 0) + 1, (held[2] or 0) + 1))
if held[1] then redis.call('HSET', KEYS[1], 'clock', order) end
return order`);

/** An order (microseconds) above all that were given in the workspace; those to come are above it. */
export async function takeOrder(redis: RedisConnection, workspaceId: string): Promise<number> {
  return Number(await takeOrderScript(redis, [stateKey(workspaceId)], []));
}

/** What went from Redis, or would go. */
export interface Forgotten {
  identities: number;
  /** Answers to idempotency keys, of which ids alone stay. */
  records: number;
  /** Refused bodies that had not been moved to Postgres. */
  rejected: number;
}

/**
 * Takes out of Redis what it holds of erased leads. A post that is repeated under its idempotency key
 * is still told from a new one for what is left of its day: its record keeps ids, and no identity. To
 * be called after the erasure is committed; the same again finds nothing more.
 */
export async function forgetLeads(
  redis: RedisConnection,
  {
    workspaceId,
    leadIds,
    isTheirs,
  }: {
    workspaceId: string;
    leadIds: readonly string[];
    isTheirs: (body: RejectedBody) => boolean;
  },
  { dryRun }: { dryRun: boolean },
): Promise<Forgotten> {
  const leads = leadIds.map(packUuid);
  const mode = dryRun ? 'count' : 'remove';
  return {
    identities: await forgetIdentities(redis, workspaceId, [mode, ...leads]),
    records: await forgetRecords(redis, workspaceId, [mode, ...leads]),
    rejected: await forgetRejected(redis, isTheirs, dryRun),
  };
}

/** KEYS: claims, then hashes of identities. ARGV: remove or count, then leads. Returns how many. */
const forgetIdentitiesScript = script(`
local call = redis.call
local leads = {}
for i = 2, #ARGV do leads[ARGV[i]] = true end
local found = 0
for i = 2, #KEYS do
  local fields = call('HGETALL', KEYS[i])
  for k = 1, #fields, 2 do
    if leads[fields[k + 1]] then
      found = found + 1
      if ARGV[1] == 'remove' then call('HDEL', KEYS[i], fields[k]) end
    end
  end
end
if ARGV[1] == 'remove' then
  for lead in pairs(leads) do call('HDEL', KEYS[1], lead) end
end
return found`);

const BUCKETS = 65_536;
/** Of a few hundred fields each at most: a script looks through them in some milliseconds. */
const AT_ONCE = 128;
/** Sent together; Redis answers others between two of them. */
const CALLS_AT_ONCE = 16;

/** By owner, as what a job that waits has claimed is known to nobody else. */
async function forgetIdentities(
  redis: RedisConnection,
  workspaceId: string,
  args: readonly string[],
): Promise<number> {
  let found = 0;
  for (let first = 0; first < BUCKETS; first += AT_ONCE * CALLS_AT_ONCE) {
    const replies = await Promise.all(
      Array.from({ length: CALLS_AT_ONCE }, (_, n) => {
        const keys = bucketsFrom(first + n * AT_ONCE).map((one) => identitiesKey(workspaceId, one));
        return forgetIdentitiesScript(redis, [claimsKey(workspaceId), ...keys], [...args]);
      }),
    );
    found += replies.reduce<number>((sum, reply) => sum + Number(reply), 0);
  }
  return found;
}

const bucketsFrom = (first: number): string[] =>
  Array.from({ length: AT_ONCE }, (_, n) => (first + n).toString(16).padStart(4, '0'));

/**
 * KEYS: a record. ARGV: remove or count, then leads. Returns 1 if it is of one of them, and more
 * than ids is in it.
 */
const forgetRecordScript = script(`
local record = redis.call('GET', KEYS[1])
if not record or #record <= ${RECORD_ORDER.end} then return 0 end
if string.sub(record, ${RECORD_ORDER.end + 1}, ${RECORD_ORDER.end + 1}) == '!' then return 0 end
local lead = string.sub(record, 45, 66)
for i = 2, #ARGV do
  if ARGV[i] == lead then
    if ARGV[1] == 'remove' then
      redis.call('SET', KEYS[1], string.sub(record, 1, ${RECORD_ORDER.end}), 'KEEPTTL')
    end
    return 1
  end
end
return 0`);

async function forgetRecords(
  redis: RedisConnection,
  workspaceId: string,
  args: readonly string[],
): Promise<number> {
  let found = 0;
  for await (const { keys } of keysLike(redis, recordKey(workspaceId, '*'))) {
    const replies = await Promise.all(
      keys.map((key) => forgetRecordScript(redis, [key], [...args])),
    );
    found += replies.filter((reply) => reply === 1).length;
  }
  return found;
}

const KEYS_AT_ONCE = 1_000;

/** The keys of a pattern, and the node that has them, as far as SCAN goes at a time. */
async function* keysLike(redis: RedisConnection, pattern: string) {
  for (const node of mastersOf(redis)) {
    let cursor = '0';
    do {
      const [next, keys] = await node.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_AT_ONCE);
      yield { node, keys };
      cursor = next;
    } while (cursor !== '0');
  }
}

async function forgetRejected(
  redis: RedisConnection,
  isTheirs: (body: RejectedBody) => boolean,
  dryRun: boolean,
): Promise<number> {
  let found = 0;
  for (const linkId of await redis.hkeys(REJECTED_BYTES)) {
    if (linkId === 'all') continue;
    const entries = await redis.xrange(rejectedStream(linkId), '-', '+');
    const theirs = entries.flatMap(([id, [, text]]) => {
      const body = readRejectedBody(text ?? '');
      return body !== null && isTheirs(body) ? id : [];
    });
    found += theirs.length;
    if (theirs.length > 0 && !dryRun) await removeRejected(redis, linkId, theirs);
  }
  return found;
}

/** Takes all that Redis holds before the queue of a workspace and its links. Twice is harmless. */
export async function forgetWorkspace(
  redis: RedisConnection,
  { workspaceId, linkIds }: { workspaceId: string; linkIds: readonly string[] },
): Promise<void> {
  for await (const { node, keys } of keysLike(redis, `${workspacePrefix(workspaceId)}*`))
    if (keys.length > 0) await node.unlink(...keys);
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
