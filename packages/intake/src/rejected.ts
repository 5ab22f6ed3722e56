import type { RedisConnection } from '@leadgate/boot';
import type { RejectedBody } from '@leadgate/contract';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { REJECTED_BYTES, rejectedStream, script } from './keys.ts';

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

const compiled = Compile(
  Type.Object({
    id: Type.String(),
    workspaceId: Type.String(),
    linkId: Type.String(),
    stamp: Type.Integer(),
    code: Type.String(),
    errors: Type.Array(
      Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String() }),
    ),
    body: Type.String(),
    bodyType: Type.Union([Type.Literal('json'), Type.Literal('form')]),
    page: Type.Optional(Type.String()),
    userAgent: Type.Optional(Type.String()),
    address: Type.Optional(Type.String()),
  }),
);

/** A refused body from its text in Redis, or null if the text is not one. */
export function readRejectedBody(text: string): RejectedBody | null {
  try {
    const value: unknown = JSON.parse(text);
    return compiled.Check(value) ? value : null;
  } catch {
    return null;
  }
}
