import { type RedisConnection, redisScript } from '@leadgate/boot';
import type { CaptureLink } from '@leadgate/contract';
import { LINK_CHANGES, LINK_STEPS, LINKS, REVISION, script } from '../keys.ts';

/** Steps that Redis keeps: one a second while links change. */
const MOST_STEPS = 100;
/** Codes whose entries a receiver is told in one answer: more is read by reading all. */
const MOST_CODES = 2_000;

/** The text of an entry in Redis, with its revision last, as the scripts look for it there. */
export function entryText({ revision, ...link }: CaptureLink): string {
  return JSON.stringify({ ...link, revision });
}

/** The revision of an entry, by its text alone; 0 in what versions before this one wrote. */
export function entryRevision(text: string): number {
  return Number(/"revision":(\d+)\}$/.exec(text)?.[1] ?? 0);
}

/**
 * Lua of `revision_of(text)`, and of `put(code, text)`, which leaves alone what is newer than it. An
 * entry is as of the revision at which Postgres was read, so who read first replaces nobody who read later.
 */
export const PUT_ENTRY = `
local function revision_of(text)
  return tonumber(string.match(text or '', '"revision":(%d+)}$') or 0)
end
local function put(code, text)
  if revision_of(redis.call('HGET', KEYS[1], code)) <= revision_of(text) then
    redis.call('HSET', KEYS[1], code, text)
  end
end`;

/** KEYS: links. ARGV: code, entry, … */
const putScript = script(`${PUT_ENTRY}
for i = 1, #ARGV, 2 do put(ARGV[i], ARGV[i + 1]) end`);

/**
 * KEYS: links, steps. ARGV: the revision before and after, the codes with commas between, then code and
 * entry of each, '' if it is gone. Returns 0 if the directory is not, or no longer, as of before.
 */
const followScript = script(`${PUT_ENTRY}
if redis.call('HGET', KEYS[1], '${REVISION}') ~= ARGV[1] then return 0 end
for i = 4, #ARGV, 2 do
  if ARGV[i + 1] ~= '' then put(ARGV[i], ARGV[i + 1])
  elseif revision_of(redis.call('HGET', KEYS[1], ARGV[i])) <= tonumber(ARGV[2]) then
    redis.call('HDEL', KEYS[1], ARGV[i])
  end
end
redis.call('HSET', KEYS[1], '${REVISION}', ARGV[2])
redis.call('LPUSH', KEYS[2], ARGV[1] .. ' ' .. ARGV[2] .. ' ' .. ARGV[3])
redis.call('LTRIM', KEYS[2], 0, ${MOST_STEPS - 1})
return 1`);

/** The entries of the link directory that changed, as they are at `revision` or after it. */
export interface LinkChanges {
  revision: number;
  /** Null: the code is gone. */
  entries: { code: string; link: CaptureLink | null }[];
}

/**
 * Takes the directory in Redis from one revision to the next and tells every receiver. Returns false,
 * and changes nothing, if Redis is not as of `from`: another worker was faster, or it lost it.
 */
export async function followLinks(
  redis: RedisConnection,
  from: number,
  { revision, entries }: LinkChanges,
): Promise<boolean> {
  const codes = entries.map(({ code }) => code).join(',');
  const done = await followScript(
    redis,
    [LINKS, LINK_STEPS],
    [
      ...[from, revision, codes],
      ...entries.flatMap(({ code, link }) => [code, link === null ? '' : entryText(link)]),
    ],
  );
  if (done === 1 && codes !== '') await redis.publish(LINK_CHANGES, codes);
  return done === 1;
}

/**
 * KEYS: links, steps. ARGV: the revision that the caller has. Returns the revision of the directory;
 * then, if the steps lead from the one to the other, code and entry of each change.
 */
const changesScript = redisScript(`#!lua flags=no-writes
local now = redis.call('HGET', KEYS[1], '${REVISION}')
local at, codes, seen = now, {}, {}
for _, step in ipairs(now and redis.call('LRANGE', KEYS[2], 0, -1) or {}) do
  local from, to, changed = string.match(step, '^(%d+) (%d+) (.*)$')
  if at == ARGV[1] or to ~= at or #codes > ${MOST_CODES} then break end
  for code in string.gmatch(changed, '[^,]+') do
    if not seen[code] then codes[#codes + 1] = code end
    seen[code] = true
  end
  at = from
end
if not now or at ~= ARGV[1] or #codes > ${MOST_CODES} then return { now, 0 } end
local reply = { now, 1 }
for _, code in ipairs(codes) do
  reply[#reply + 1] = code
  reply[#reply + 1] = redis.call('HGET', KEYS[1], code)
end
return reply`);

type ChangesFound =
  /** The directory is not complete. */
  | { kind: 'incomplete' }
  /** What leads from the one revision to the other is not known (any more). */
  | { kind: 'unknown'; revision: number }
  | { kind: 'changes'; revision: number; entries: { code: string; text: string | null }[] };

/** What changed in Redis after a revision. */
export async function changesAfter(
  redis: RedisConnection,
  revision: number,
): Promise<ChangesFound> {
  const reply = await changesScript(redis, [LINKS, LINK_STEPS], [revision]);
  const [now, known, ...rest] = Array.isArray(reply) ? (reply as unknown[]) : [];
  if (typeof now !== 'string') return { kind: 'incomplete' };
  if (known !== 1) return { kind: 'unknown', revision: Number(now) };
  const entries: { code: string; text: string | null }[] = [];
  for (let i = 0; i < rest.length; i += 2) {
    const [code, text] = [rest[i], rest[i + 1]];
    if (typeof code === 'string')
      entries.push({ code, text: typeof text === 'string' ? text : null });
  }
  return { kind: 'changes', revision: Number(now), entries };
}

/** What SCAN goes through between two commands of others. */
const SCAN_COUNT = 1_000;

/** The codes and texts of the directory in Redis, page by page: what changes meanwhile may come as it was, or twice. */
export async function* entriesInRedis(
  redis: RedisConnection,
): AsyncGenerator<[code: string, text: string][]> {
  let cursor = '0';
  do {
    const [next, items] = await redis.hscan(LINKS, cursor, 'COUNT', SCAN_COUNT);
    const page: [string, string][] = [];
    for (let i = 0; i + 1 < items.length; i += 2) {
      const [code, text] = [items[i], items[i + 1]];
      if (code !== undefined && text !== undefined && code !== REVISION) page.push([code, text]);
    }
    yield page;
    cursor = next;
  } while (cursor !== '0');
}

const CHUNK = 500;

/**
 * Writes entries of the link directory, but over none that is newer, and tells every receiver. Call it after the commit in
 * Postgres; should it fail, the directory's revision is behind and the worker follows.
 */
export async function putLinks(
  redis: RedisConnection,
  entries: readonly { code: string; link: CaptureLink }[],
): Promise<void> {
  for (let i = 0; i < entries.length; i += CHUNK) {
    const chunk = entries.slice(i, i + CHUNK);
    const texts = chunk.flatMap(({ code, link }) => [code, entryText(link)]);
    await putScript(redis, [LINKS], texts);
    await redis.publish(LINK_CHANGES, chunk.map(({ code }) => code).join(','));
  }
}
