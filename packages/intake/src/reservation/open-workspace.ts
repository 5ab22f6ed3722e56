import type { Redis } from 'ioredis';
import { stateKey } from '../keys.ts';
import { script } from '../script.ts';

/** Lua of what opens a workspace, with KEYS[1] its state and `highest` the highest order known. */
export const OPEN_WORKSPACE = `
local held = redis.call('HMGET', KEYS[1], 'clock', 'floor')
local clock = math.max(tonumber(held[1] or 0), tonumber(held[2] or 0), highest)
redis.call('HSET', KEYS[1], 'clock', string.format('%.0f', clock), 'open', 1)
redis.call('HDEL', KEYS[1], 'floor')`;

const openScript = script(`local highest = tonumber(ARGV[1])${OPEN_WORKSPACE}`);

/**
 * Lets a workspace be claimed on. For one that was just created: it has nothing that Redis could
 * lack. Its clock stands at the highest of what it was, what a receiver has seen, and `highestOrder`
 * (microseconds); it is never lowered.
 */
export async function openWorkspace(
  redis: Redis,
  workspaceId: string,
  highestOrder = 0,
): Promise<void> {
  await openScript(redis, [stateKey(workspaceId)], [highestOrder]);
}
