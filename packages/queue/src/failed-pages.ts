import type { RedisConnection } from '@leadgate/boot';

/**
 * Several sequences, each in order and page by page, as one in order, in pages of `pageSize` at most.
 * What is closed early closes all of them.
 */
export async function* mergePages<T>(
  sources: readonly AsyncGenerator<T[]>[],
  comesFirst: (a: T, b: T) => boolean,
  pageSize: number,
): AsyncGenerator<T[]> {
  const heads = sources.map((source) => new Head(source));
  try {
    let page: T[] = [];
    for (;;) {
      let first: { head: Head<T>; item: T } | null = null;
      for (const head of heads) {
        const item = await head.peek();
        if (item !== undefined && (first === null || comesFirst(item, first.item)))
          first = { head, item };
      }
      if (first === null) break;
      first.head.drop();
      page.push(first.item);
      if (page.length < pageSize) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  } finally {
    await Promise.all(sources.map((source) => source.return(undefined)));
  }
}

/** The next item of a source. */
class Head<T> {
  readonly #source: AsyncGenerator<T[]>;
  #page: T[] = [];
  #next = 0;
  #ended = false;

  constructor(source: AsyncGenerator<T[]>) {
    this.#source = source;
  }

  async peek(): Promise<T | undefined> {
    while (this.#next === this.#page.length && !this.#ended) {
      const next = await this.#source.next();
      this.#ended = next.done === true;
      this.#page = next.done === true ? [] : next.value;
      this.#next = 0;
    }
    return this.#page[this.#next];
  }

  drop(): void {
    this.#next += 1;
  }
}

export interface TimedMember {
  member: string;
  /** Its score: milliseconds since 1970. */
  time: number;
}

/**
 * The members of a sorted set of times, page by page, while members come and go: none that stays is
 * left out or comes twice. Members of one time come in the order of their bytes.
 */
export async function* walkByTime(
  redis: RedisConnection,
  key: string,
  {
    order,
    pageSize,
    until,
    after,
  }: {
    order: 'oldest-first' | 'newest-first';
    pageSize: number;
    /** Only those of this time or earlier. */
    until?: number;
    /** Only those that come after this one. */
    after?: TimedMember;
  },
): AsyncGenerator<TimedMember[]> {
  const oldestFirst = order === 'oldest-first';
  const end = oldestFirst ? (until ?? '+inf') : '-inf';
  let last = after;
  // Of the time where the last page ended.
  let seen = 0;
  for (;;) {
    const start = last?.time ?? (oldestFirst ? '-inf' : (until ?? '+inf'));
    const count = pageSize + seen;
    const reply = oldestFirst
      ? await redis.zrangebyscore(key, start, end, 'WITHSCORES', 'LIMIT', 0, count)
      : await redis.zrevrangebyscore(key, start, end, 'WITHSCORES', 'LIMIT', 0, count);
    const all = readPairs(reply);
    const fresh = all.filter((one) => last === undefined || comesAfter(one, last, oldestFirst));
    const final = fresh.at(-1);
    if (final === undefined) {
      if (all.length < count) return;
      // More of one time stand before the next than a page holds.
      seen += pageSize;
      continue;
    }
    yield fresh;
    last = final;
    seen = 0;
  }
}

function comesAfter(one: TimedMember, last: TimedMember, oldestFirst: boolean): boolean {
  if (one.time !== last.time) return oldestFirst ? one.time > last.time : one.time < last.time;
  return oldestFirst ? one.member > last.member : one.member < last.member;
}

/** Members and scores, which come one after the other, or with RESP3 in pairs. */
function readPairs(reply: readonly unknown[]): TimedMember[] {
  const flat = reply.flat();
  return Array.from({ length: flat.length / 2 }, (_, i) => ({
    member: String(flat[2 * i]),
    time: Number(flat[2 * i + 1]),
  }));
}
