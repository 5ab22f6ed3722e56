import type { RedisConnection } from '@leadgate/boot';
import { stateKey } from '../keys.ts';
import { script } from '../script.ts';

const closeScript = script(`
local held = redis.call('HMGET', KEYS[1], 'open', 'clock')
if not held[1] or tonumber(held[2] or 0) >= tonumber(ARGV[1]) then return 0 end
redis.call('HDEL', KEYS[1], 'open')
return 1`);

/**
 * Stops claims on a workspace whose clock is below `highestOrder` (microseconds), the highest that
 * Postgres holds: Redis came back older than it was, and no receiver may be left that remembers.
 * Returns whether it did; `refillNeeds` then names the workspace.
 */
export async function closeOlderWorkspace(
  redis: RedisConnection,
  workspaceId: string,
  highestOrder: number,
): Promise<boolean> {
  return (await closeScript(redis, [stateKey(workspaceId)], [highestOrder])) === 1;
}
