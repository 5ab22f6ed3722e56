import type { Log, RedisConnection, RedisScript } from '@leadgate/boot';
import { type CaptureLink, isExternalKey, packUuid } from '@leadgate/contract';
import { randomUUID } from 'node:crypto';
import {
  claimsKey,
  identitiesKey,
  identityRef,
  LINK_CHANGES,
  LINK_STEPS,
  LINKS,
  LINKS_PREFIX,
  REFILL_REQUESTS,
  refillKey,
  RELOAD,
  REVISION,
  script,
  stateKey,
  workspacePrefix,
} from '../keys.ts';
import {
  entriesInRedis,
  entryRevision,
  entryText,
  followLinks,
  type LinkChanges,
  PUT_ENTRY,
} from '../links/link-changes.ts';
import { HERE, OPEN_WORKSPACE, SERVER } from '../reservation/marker.ts';
import { IDENTITIES_AT_CREATION } from '../reservation/reserve-script.ts';

/** What Redis is refilled from when it comes back empty or older: Postgres, read in pages. */
export interface RefillSource {
  /** Raised by whatever changes a link, and never the same again: read before `links()`, it says how new they are. */
  directoryRevision(): Promise<number>;
  workspaceIds(): Promise<string[]>;
  /** Every code that resolves, closed ones included, with its entry. */
  links(): AsyncIterable<{ code: string; link: CaptureLink }[]>;
  /**
   * Every identity of a workspace with its owner, aliases and merges followed. The keys of a lead
   * follow each other, so that they can be counted as they pass.
   */
  identities(workspaceId: string): AsyncIterable<{ key: string; leadId: string }[]>;
  /** The highest order (microseconds) ever stored in each of the workspaces; 0 or absent: none. */
  highestOrders(workspaceIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
}

export interface LinkChangeSource {
  /**
   * What changed after a revision. Null if only reading all of it tells: too much, too long ago, or a
   * revision that this Postgres never had.
   */
  linkChanges(since: number): Promise<LinkChanges | null>;
}

/** What is known of workspaces that Postgres does not have. */
export interface RemovalSource {
  /** Those of the workspaces that were removed for good. */
  removedAmong(workspaceIds: readonly string[]): Promise<ReadonlySet<string>>;
}

const RUN_SECONDS = 600;

/**
 * One run of a refill. Every step counts up a number beside what it fills, from what the step before
 * left there: if Redis was emptied, fell back to an older state or became another one in between,
 * the number does not match, and what was filled or claimed before that may be gone. Then the run
 * fails, and nothing is called complete.
 */
interface RefillRun {
  /** Calls a script of `stepScript`. Throws when Redis lost earlier steps. */
  step(
    call: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown>;
}

const startScript = script(`${SERVER}
redis.call('SET', KEYS[1], server() .. ' 0', 'EX', ${RUN_SECONDS})`);

/** `prefix`: of the keys that are filled, for their slot. */
async function startRefillRun(redis: RedisConnection, prefix: string): Promise<RefillRun> {
  const runKey = refillKey(prefix, randomUUID());
  let steps = 0;
  await startScript(redis, [runKey], []);
  return {
    step: async (call, keys, args) => {
      const reply = await call(redis, [...keys, runKey], [...args, steps]);
      if (reply === 'lost') throw new Error('Redis lost what was refilled; refill it again');
      steps += 1;
      return reply;
    },
  };
}

/** A script that runs as a step: the run's key comes after its own keys, and is not theirs to use. */
function stepScript(lua: string): RedisScript {
  return script(`${HERE}
local run, step, id = table.remove(KEYS), table.remove(ARGV), server()
if redis.call('GET', run) ~= id .. ' ' .. step then return 'lost' end
redis.call('SET', run, id .. ' ' .. string.format('%.0f', step + 1), 'EX', ${RUN_SECONDS})
${lua}`);
}

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
  for await (const page of entriesInRedis(redis))
    for (const [code, text] of page) revisions.set(code, entryRevision(text));
  return revisions;
}

/** The revision in Postgres that the directory in Redis is complete as of; null if it is not. */
export async function directoryRevision(redis: RedisConnection): Promise<number | null> {
  const revision = await redis.hget(LINKS, REVISION);
  return revision === null ? null : Number(revision);
}

/** Differences remembered from one reading of Postgres to the next. */
const MAX_DIFFERENCES = 200_000;

/**
 * KEYS: the hash of each identity. ARGV: for each its field, its lead, and the owner it may be taken
 * from ('' for none). Returns how many were set, then for each other owner met: place, owner.
 */
const fillScript = stepScript(`
local reply = { 0 }
for i = 1, #KEYS do
  local field, lead, from = ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i]
  local owner = redis.call('HGET', KEYS[i], field)
  if not owner or owner == from then
    if owner ~= lead then redis.call('HSET', KEYS[i], field, lead) reply[1] = reply[1] + 1 end
  elseif owner ~= lead then
    reply[#reply + 1] = i - 1
    reply[#reply + 1] = owner
  end
end
return reply`);

/** KEYS: claims. ARGV: lead, count, … Never lowers one: live claims may have counted since. */
const countScript = stepScript(`
for i = 1, #ARGV, 2 do
  local before = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or 0)
  if tonumber(ARGV[i + 1]) > before then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end`);

/** KEYS: state. ARGV: the highest order in Postgres. */
const openScript = stepScript(`local highest = tonumber(ARGV[1])${OPEN_WORKSPACE}
redis.call('DEL', run)`);

/**
 * Brings the identities of a workspace from Postgres to Redis, and then lets it be claimed on. Returns
 * how many identities Postgres has. Safe beside live traffic and beside another refill; a failure
 * leaves the marker as it was, and the next refill starts again. Throws when the source or Redis
 * fails, or Redis lost its data meanwhile.
 *
 * Nothing is overwritten blindly. A key that Redis lacks is set. If Redis names another owner,
 * Postgres is read once more, and its owner then takes the key from the one that Redis named before
 * that reading: a claim or move made since stays. Keys that only Redis has stay: their job may wait.
 */
export async function refillWorkspace(
  redis: RedisConnection,
  source: RefillSource,
  workspaceId: string,
): Promise<number> {
  const run = await startRefillRun(redis, workspacePrefix(workspaceId));
  const counter = new ClaimCounter(run, workspaceId);
  let reading = await fill(run, source, workspaceId, new Map(), counter);
  await counter.close();
  while (reading.differences.size > 0) {
    reading = await fill(run, source, workspaceId, reading.differences);
    // What still differs changes under this reading: that is live, and newer.
    if (reading.set === 0) break;
  }
  const highest = await source.highestOrders([workspaceId]);
  // Before the marker is set: whoever finds the workspace behind after that must be heard.
  await redis.srem(REFILL_REQUESTS, workspaceId);
  await run.step(openScript, [stateKey(workspaceId)], [highest.get(workspaceId) ?? 0]);
  return counter.identities;
}

interface FillRound {
  set: number;
  /** Field → the owner Redis named, if Postgres names another. */
  differences: Map<string, string>;
}

/** Reads Postgres through, sets what Redis lacks, and takes keys from the owners in `takeFrom`. */
async function fill(
  run: RefillRun,
  source: RefillSource,
  workspaceId: string,
  takeFrom: ReadonlyMap<string, string>,
  counter?: ClaimCounter,
): Promise<FillRound> {
  const round: FillRound = { set: 0, differences: new Map() };
  for await (const page of source.identities(workspaceId))
    for (let i = 0; i < page.length; i += CHUNK) {
      const identities = page.slice(i, i + CHUNK).map(({ key, leadId }) => {
        const { bucket, field } = identityRef(key);
        return { bucket, field, lead: packUuid(leadId), counts: !isExternalKey(key) };
      });
      const [set, ...met] = readFillReply(
        await run.step(
          fillScript,
          identities.map(({ bucket }) => identitiesKey(workspaceId, bucket)),
          identities.flatMap(({ field, lead }) => [field, lead, takeFrom.get(field) ?? '']),
        ),
      );
      round.set += Number(set);
      for (let k = 0; k + 1 < met.length && round.differences.size < MAX_DIFFERENCES; k += 2)
        round.differences.set(identities[Number(met[k])]?.field ?? '', String(met[k + 1]));
      await counter?.count(identities);
    }
  return round;
}

function readFillReply(reply: unknown): unknown[] {
  if (!Array.isArray(reply)) throw new TypeError('the reply of a refill cannot be read');
  return reply;
}

/** Rebuilds how many identities each lead has, of leads whose keys come one after the other. */
class ClaimCounter {
  identities = 0;
  readonly #run: RefillRun;
  readonly #key: string;
  #lead = '';
  #keys = 0;
  #counts: (string | number)[] = [];

  constructor(run: RefillRun, workspaceId: string) {
    this.#run = run;
    this.#key = claimsKey(workspaceId);
  }

  async count(identities: readonly { lead: string; counts: boolean }[]): Promise<void> {
    this.identities += identities.length;
    for (const { lead, counts } of identities) {
      if (lead !== this.#lead) this.#next(lead);
      if (counts) this.#keys += 1;
    }
    if (this.#counts.length >= 2 * CHUNK) await this.#send();
  }

  async close(): Promise<void> {
    this.#next('');
    if (this.#counts.length > 0) await this.#send();
  }

  #next(lead: string): void {
    const beyond = this.#keys - IDENTITIES_AT_CREATION;
    if (beyond > 0) this.#counts.push(this.#lead, beyond);
    this.#lead = lead;
    this.#keys = 0;
  }

  async #send(): Promise<void> {
    const counts = this.#counts;
    this.#counts = [];
    await this.#run.step(countScript, [this.#key], counts);
  }
}

/**
 * Brings all of Redis that stands before the queue from Postgres: links first, then each workspace.
 * Throws at the first failure; what was refilled by then stays refilled.
 */
export async function refillAll(
  redis: RedisConnection,
  source: RefillSource,
  { logger }: { logger?: Log } = {},
): Promise<{ links: number; workspaces: number; identities: number }> {
  const revision = await source.directoryRevision();
  const links = await refillDirectory(redis, source, revision);
  logger?.info({ links, revision }, 'link directory refilled');
  const workspaceIds = await source.workspaceIds();
  let identities = 0;
  for (const workspaceId of workspaceIds) {
    const found = await refillWorkspace(redis, source, workspaceId);
    logger?.info({ workspaceId, identities: found }, 'workspace refilled');
    identities += found;
  }
  return { links, workspaces: workspaceIds.length, identities };
}

/**
 * KEYS: claims, then the hash of each identity. ARGV: for each identity its field, from, to ('' for
 * none), and 1 if it counts for its lead.
 */
const moveScript = script(`
local call = redis.call
for i = 2, #KEYS do
  local field, from, to, counts = unpack(ARGV, 4 * i - 7, 4 * i - 4)
  counts = counts == '1'
  local owner = call('HGET', KEYS[i], field)
  if owner == from or (not owner and to ~= '') then
    if counts and to ~= '' then call('HINCRBY', KEYS[1], to, 1) end
    if counts and owner and tonumber(call('HGET', KEYS[1], from) or 0) > 0 then
      if call('HINCRBY', KEYS[1], from, -1) == 0 then call('HDEL', KEYS[1], from) end
    end
    if to ~= '' then call('HSET', KEYS[i], field, to) else call('HDEL', KEYS[i], field) end
  end
end`);

/**
 * Lets Redis follow what Postgres decided (another owner found, a merge): each key goes to `to` if
 * Redis still says `from` or nothing, and stays if it says another lead; to none (null), it is free
 * again. Call after the commit.
 */
export async function moveIdentities(
  redis: RedisConnection,
  workspaceId: string,
  moves: readonly { key: string; from: string; to: string | null }[],
): Promise<void> {
  for (let i = 0; i < moves.length; i += CHUNK) {
    const chunk = moves.slice(i, i + CHUNK);
    const refs = chunk.map(({ key }) => identityRef(key));
    await moveScript(
      redis,
      [claimsKey(workspaceId), ...refs.map(({ bucket }) => identitiesKey(workspaceId, bucket))],
      chunk.flatMap(({ key, from, to }, k) => [
        refs[k]?.field ?? '',
        packUuid(from),
        to === null ? '' : packUuid(to),
        isExternalKey(key) ? 0 : 1,
      ]),
    );
  }
}
