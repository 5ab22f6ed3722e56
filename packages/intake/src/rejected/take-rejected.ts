import type { RedisConnection } from '@leadgate/boot';
import type { RejectedBody } from '@leadgate/contract';
import { REJECTED_BYTES, rejectedStream } from '../keys.ts';
import { script } from '../script.ts';
import { readRejectedBody } from './rejected-body.ts';

/** Of up to 64 KiB each. */
const BATCH = 50;

/** KEYS: stream, bytes. ARGV: link, then ids. */
const removeScript = script(`
local call = redis.call
local freed = 0
for i = 2, #ARGV do
  local entry = call('XRANGE', KEYS[1], ARGV[i], ARGV[i])[1]
  if entry then
    freed = freed + #entry[2][2]
    call('XDEL', KEYS[1], ARGV[i])
  end
end
if freed == 0 then return end
call('HINCRBY', KEYS[2], 'all', -freed)
if call('XLEN', KEYS[1]) == 0 then
  call('DEL', KEYS[1])
  call('HDEL', KEYS[2], ARGV[1])
else
  call('HINCRBY', KEYS[2], ARGV[1], -freed)
end`);

/** Takes entries out of the stream of a link, in one step with the count of its bytes. */
export async function removeRejected(
  redis: RedisConnection,
  linkId: string,
  ids: readonly string[],
): Promise<void> {
  await removeScript(redis, [rejectedStream(linkId), REJECTED_BYTES], [linkId, ...ids]);
}

/**
 * Moves the refused bodies of all links to where `save` keeps them, in batches of up to 50 of one
 * link, and returns how many. They leave Redis once `save` has resolved: a crash in between, or two
 * workers at once, save some twice, which their ids make harmless. Rejects with what `save` rejects
 * with. An entry that cannot be read is dropped.
 */
export async function takeRejected(
  redis: RedisConnection,
  save: (rejected: RejectedBody[]) => Promise<void>,
): Promise<number> {
  let moved = 0;
  for (const linkId of await redis.hkeys(REJECTED_BYTES)) {
    if (linkId === 'all') continue;
    const stream = rejectedStream(linkId);
    let entries = await redis.xrange(stream, '-', '+', 'COUNT', BATCH);
    while (entries.length > 0) {
      const bodies = entries.flatMap(([, [, text]]) => readRejectedBody(text ?? '') ?? []);
      if (bodies.length > 0) await save(bodies);
      await removeRejected(
        redis,
        linkId,
        entries.map(([id]) => id),
      );
      moved += bodies.length;
      entries = await redis.xrange(stream, '-', '+', 'COUNT', BATCH);
    }
  }
  return moved;
}
