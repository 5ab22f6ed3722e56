import type { RedisConnection } from '@leadgate/boot';
import { isExternalKey, packUuid, type RefillSource } from '@leadgate/contract';
import { identityRef } from '../digest.ts';
import { REFILL_REQUESTS, claimsKey, identitiesKey, stateKey, workspacePrefix } from '../keys.ts';
import { OPEN_WORKSPACE } from '../reservation/open-workspace.ts';
import { IDENTITIES_AT_CREATION } from '../reservation/reservation.ts';
import { startRefillRun, stepScript, type RefillRun } from './refill-run.ts';

const CHUNK = 500;
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
 * Nothing is overwritten blindly. A key that Redis lacks is set. Where Redis names another owner,
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

interface Reading {
  set: number;
  /** Field → the owner Redis named, where Postgres names another. */
  differences: Map<string, string>;
}

/** Reads Postgres through, sets what Redis lacks, and takes keys from the owners in `takeFrom`. */
async function fill(
  run: RefillRun,
  source: RefillSource,
  workspaceId: string,
  takeFrom: ReadonlyMap<string, string>,
  counter?: ClaimCounter,
): Promise<Reading> {
  const reading: Reading = { set: 0, differences: new Map() };
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
      reading.set += Number(set);
      for (let k = 0; k + 1 < met.length && reading.differences.size < MAX_DIFFERENCES; k += 2)
        reading.differences.set(identities[Number(met[k])]?.field ?? '', String(met[k + 1]));
      await counter?.count(identities);
    }
  return reading;
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
