import type { RedisConnection } from '@leadgate/boot';
import type { RejectedBody } from '@leadgate/contract';
import { REJECTED_BYTES, rejectedStream } from '../keys.ts';
import { script } from '../script.ts';

const MAX_ENTRIES = 1_000;
const MAX_LINK_BYTES = 4 * 1024 * 1024;
const MAX_BYTES = 64 * 1024 * 1024;

/** KEYS: stream, bytes. ARGV: link, entry, most entries, most bytes of the link, of all links. */
const pushScript = script(`
local call = redis.call
local size = #ARGV[2]
local held = call('HMGET', KEYS[2], ARGV[1], 'all')
local mine, all = tonumber(held[1] or 0), tonumber(held[2] or 0)
local entries = call('XLEN', KEYS[1])
while entries > 0 and (entries >= tonumber(ARGV[3]) or mine + size > tonumber(ARGV[4])) do
  local oldest = call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  call('XDEL', KEYS[1], oldest[1])
  local freed = #oldest[2][2]
  entries, mine, all = entries - 1, mine - freed, all - freed
end
local fits = all + size <= tonumber(ARGV[5])
if fits then
  call('XADD', KEYS[1], '*', 'v', ARGV[2])
  mine, all = mine + size, all + size
end
call('HSET', KEYS[2], ARGV[1], mine, 'all', all)
return fits and 1 or 0`);

/**
 * Keeps a refused body in its link's stream until the worker takes it. Best effort and bounded: the
 * oldest of a link make room (1,000 entries or 4 MiB a link), and at 64 MiB over all links nothing
 * more is kept. Rejects when Redis fails.
 */
export async function pushRejected(redis: RedisConnection, rejected: RejectedBody): Promise<void> {
  await pushScript(
    redis,
    [rejectedStream(rejected.linkId), REJECTED_BYTES],
    [rejected.linkId, JSON.stringify(rejected), MAX_ENTRIES, MAX_LINK_BYTES, MAX_BYTES],
  );
}
