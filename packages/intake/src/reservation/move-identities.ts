import type { RedisConnection } from '@leadgate/boot';
import { isExternalKey } from '@leadgate/contract';
import { claimsKey, identitiesKey, identityRef, script } from '../keys.ts';
import { packUuid } from '@leadgate/contract';

const CHUNK = 500;

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
