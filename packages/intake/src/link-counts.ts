import type { RedisConnection } from '@leadgate/boot';
import type { ProblemCode } from '@leadgate/contract';

/** Stream: what receivers counted by link since they last said so. Workers add it up. */
const COUNTS = 'leadgate:counts';

/** Entries, should no worker take them. */
const MOST_ENTRIES = 50_000;

/** What receivers count of a link's posts that reservations do not tell. */
export type ReceiverCount = 'spooled' | `refused:${ProblemCode}`;

export interface LinkCount {
  workspaceId: string;
  linkId: string;
  /** Milliseconds since 1970, of the minute's begin. */
  at: number;
  what: ReceiverCount;
  n: number;
}

const MINUTE_MS = 60_000;
const PUSH_EVERY_MS = 3_000;

/** Links times codes times minutes; a flood of them during an outage of Redis is cut there. */
const MOST_KEPT = 20_000;

export interface LinkCounter {
  count(link: { workspaceId: string; linkId: string }, what: ReceiverCount, now: number): void;
  /** Counts no more, and pushes what is left. Never rejects. */
  close(): Promise<void>;
}

/**
 * Counts in memory, and tells Redis every three seconds if there is anything. What Redis does not take
 * is told with the next; what was counted since dies with a process that is killed.
 */
export function countLinks(redis: RedisConnection): LinkCounter {
  let counts = new Map<string, LinkCount>();
  let pushing: Promise<void> = Promise.resolve();

  function add(count: LinkCount): void {
    const key = `${count.linkId} ${count.what} ${count.at.toString()}`;
    const known = counts.get(key);
    if (known !== undefined) known.n += count.n;
    else if (counts.size < MOST_KEPT) counts.set(key, { ...count });
  }

  async function push(): Promise<void> {
    if (counts.size === 0) return;
    const taken = [...counts.values()];
    counts = new Map();
    try {
      await redis.xadd(COUNTS, 'MAXLEN', '~', MOST_ENTRIES, '*', 'c', JSON.stringify(taken));
    } catch {
      for (const count of taken) add(count);
    }
  }

  const timer = setInterval(() => {
    pushing = pushing.then(push);
  }, PUSH_EVERY_MS);
  return {
    count: ({ workspaceId, linkId }, what, now) =>
      add({ workspaceId, linkId, what, at: now - (now % MINUTE_MS), n: 1 }),
    async close() {
      clearInterval(timer);
      pushing = pushing.then(push);
      await pushing;
    },
  };
}

/** What receivers counted, an entry each time one said so. */
export const linkCountStream = (redis: RedisConnection) => ({
  name: 'counts',
  /** The entries after one, oldest first, at most so many. */
  async read(after: string, limit: number): Promise<{ entryId: string; counts: LinkCount[] }[]> {
    const entries = await redis.xrange(COUNTS, `(${after}`, '+', 'COUNT', limit);
    return entries.map(([entryId, [, text = '[]']]) => ({
      entryId,
      // Written by a receiver of this service.
      counts: JSON.parse(text) as LinkCount[],
    }));
  },
  /** Lets go what came before an entry. */
  async trim(before: string): Promise<void> {
    await redis.xtrim(COUNTS, 'MINID', before);
  },
});
