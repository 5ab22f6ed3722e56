import type { RedisConnection } from '@leadgate/boot';
import { stateKey } from '../keys.ts';
import { script } from '../script.ts';

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
redis.call('HSET', KEYS[1], 'clock', string.format('%.0f', clock), 'open', 1)
redis.call('HDEL', KEYS[1], 'floor')`;

const openScript = script(`local highest = tonumber(ARGV[1])${OPEN_WORKSPACE}`);

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
