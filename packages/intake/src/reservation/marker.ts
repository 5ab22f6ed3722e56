import { type RedisConnection, mastersOf } from '@leadgate/boot';
import { script, stateKey, REFILL_CHANNEL, REFILL_REQUESTS } from '../keys.ts';
import type { RefillSource } from '../refill/refill.ts';

/** Longer than the values of a packed hash (`hash-max-listpack-value`, 64 unless set). */
const LONG_VALUE = 1_024;

/**
 * Lua of `server()`: which Redis this is. Its replication id is new after every start, and after every
 * promotion of a replica (https://redis.io/docs/latest/operate/oss_and_stack/management/replication/).
 */
export const SERVER = `
local function server()
  return string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or ''
end`;

/**
 * Lua of `here(state)`: what the marker of a workspace says if this dataset is the one that it
 * was opened on. The server, and how the server holds the hash: opening turns it into a hash table,
 * which it stays for good, and a short hash that a dump brings back (RESTORE, MIGRATE) is packed again
 * (https://redis.io/docs/latest/operate/oss_and_stack/management/optimization/memory-optimization/).
 */
export const HERE = `${SERVER}
local function here(state)
  return server() .. ' ' .. tostring(redis.call('OBJECT', 'ENCODING', state))
end`;

/**
 * Lua of what opens a workspace, with KEYS[1] its state and `highest` the highest order known. The
 * clock starts at the time, which is where orders start anyway: a receiver that was idle meanwhile and
 * saw an order that is in no Postgres does not find the workspace behind again.
 */
export const OPEN_WORKSPACE = `
local held = redis.call('HMGET', KEYS[1], 'clock', 'floor')
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local clock = math.max(tonumber(held[1] or 0), tonumber(held[2] or 0), highest, now)
redis.call('HSET', KEYS[1], 'clock', string.format('%.0f', clock), 'open', string.rep('-', ${LONG_VALUE}))
redis.call('HSET', KEYS[1], 'open', here(KEYS[1]))
redis.call('HDEL', KEYS[1], 'floor')`;

const openScript = script(`${HERE}
local highest = tonumber(ARGV[1])${OPEN_WORKSPACE}`);

/**
 * Lets a workspace be claimed on. For one that was just created: it has nothing that Redis could
 * lack. Its clock stands at the highest of what it was, what a receiver has seen, `highestOrder`
 * (microseconds) and the time; it is never lowered.
 */
export async function openWorkspace(
  redis: RedisConnection,
  workspaceId: string,
  highestOrder = 0,
): Promise<void> {
  await openScript(redis, [stateKey(workspaceId)], [highestOrder]);
}

/** Workspaces that are asked for, compared and confirmed together. */
const CHUNK = 500;

/**
 * - `open`: may be claimed on.
 * - `unconfirmed`: complete when it was opened, on another Redis or before a dump was put back.
 * - `incomplete`: has lost its marker, or never had one.
 */
type Standing = { kind: 'open' } | { kind: 'unconfirmed'; here: string } | { kind: 'incomplete' };

/** KEYS: state. Returns the marker that it would have here, '' if it has it, nil without one. */
const standingScript = script(`${HERE}
local held = redis.call('HGET', KEYS[1], 'open')
if not held then return nil end
local place = here(KEYS[1])
return held == place and '' or place`);

/**
 * KEYS: state. ARGV: the marker that it would have, as `standingScript` said before Postgres was
 * asked; the highest order in Postgres. If Redis became another one since, Postgres may hold more.
 */
const confirmScript = script(`${HERE}
local held = redis.call('HMGET', KEYS[1], 'open', 'clock', 'floor')
if not held[1] then return 'incomplete' end
local place = here(KEYS[1])
if held[1] == place then return 'open' end
if place ~= ARGV[1] then return 'unconfirmed' end
local highest = math.max(tonumber(ARGV[2]), tonumber(held[3] or 0))
if tonumber(held[2] or 0) < highest then
  redis.call('HDEL', KEYS[1], 'open')
  return 'incomplete'
end${OPEN_WORKSPACE}
return 'open'`);

/** Which Redis this is, all masters together: another text after a start, a failover, a reshard. */
export async function redisIdentity(redis: RedisConnection): Promise<string> {
  const ids = await Promise.all(
    mastersOf(redis).map(async (node) => {
      const id = /master_replid:(\w+)/.exec(await node.info('replication'))?.[1];
      return id ?? '';
    }),
  );
  return ids.toSorted().join(' ');
}

/** The workspaces that receivers found behind. */
export function requestedWorkspaces(redis: RedisConnection): Promise<string[]> {
  return redis.smembers(REFILL_REQUESTS);
}

/** Calls `tell` when a receiver asks for one of them, by a connection that does nothing else. */
export function onRefillRequest(subscriber: RedisConnection, tell: () => void): void {
  subscriber.on('message', tell);
  // It is tried again, and kept over reconnections, by the connection.
  subscriber.subscribe(REFILL_CHANNEL).catch(() => undefined);
}

/** Those of the workspaces that may not be claimed on. */
export async function closedWorkspaces(
  redis: RedisConnection,
  workspaceIds: readonly string[],
): Promise<string[]> {
  const closed: string[] = [];
  for (const chunk of chunksOf(workspaceIds)) {
    const standings = await standingsOf(redis, chunk);
    closed.push(...chunk.filter((_, i) => standings[i]?.kind !== 'open'));
  }
  return closed;
}

/**
 * Opens those of the workspaces that are whole on a Redis that started again or took over: their clock
 * is not below the highest order that Postgres holds, so no claim of a stored submission is lost.
 * Returns how many, and which have to be refilled. Nothing can be claimed between the comparison and
 * its end, as only this or a refill opens a workspace.
 */
export async function confirmWorkspaces(
  redis: RedisConnection,
  source: Pick<RefillSource, 'highestOrders'>,
  workspaceIds: readonly string[],
): Promise<{ confirmed: number; incomplete: string[] }> {
  let confirmed = 0;
  const incomplete: string[] = [];
  for (const chunk of chunksOf(workspaceIds)) {
    const standings = await standingsOf(redis, chunk);
    const unconfirmed = new Map<string, string>();
    chunk.forEach((id, i) => {
      const standing = standings[i];
      if (standing?.kind === 'unconfirmed') unconfirmed.set(id, standing.here);
      else if (standing?.kind !== 'open') incomplete.push(id);
    });
    if (unconfirmed.size > 0) {
      const highest = await source.highestOrders([...unconfirmed.keys()]);
      const outcomes = await Promise.all(
        [...unconfirmed].map(async ([id, here]) => ({
          id,
          outcome: await confirmScript(redis, [stateKey(id)], [here, highest.get(id) ?? 0]),
        })),
      );
      for (const { id, outcome } of outcomes) {
        if (outcome === 'open') confirmed += 1;
        else if (outcome === 'incomplete') incomplete.push(id);
        else throw new Error('Redis became another one while it was compared; compare it again');
      }
    }
    const isIncomplete = new Set(incomplete);
    const met = chunk.filter((id) => !isIncomplete.has(id));
    if (met.length > 0) await redis.srem(REFILL_REQUESTS, ...met);
  }
  return { confirmed, incomplete };
}

function standingsOf(redis: RedisConnection, ids: readonly string[]): Promise<Standing[]> {
  return Promise.all(
    ids.map(async (id): Promise<Standing> => {
      const place = await standingScript(redis, [stateKey(id)], []);
      if (typeof place !== 'string') return { kind: 'incomplete' };
      return place === '' ? { kind: 'open' } : { kind: 'unconfirmed', here: place };
    }),
  );
}

function* chunksOf(ids: readonly string[]): Generator<string[]> {
  for (let i = 0; i < ids.length; i += CHUNK) yield ids.slice(i, i + CHUNK);
}
