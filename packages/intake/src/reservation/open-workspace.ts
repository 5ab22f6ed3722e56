import type { RedisConnection } from '@leadgate/boot';
import { script, stateKey } from '../keys.ts';

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
