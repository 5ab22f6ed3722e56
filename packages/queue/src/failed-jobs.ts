import type { RedisConnection } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import type { Job, Queue } from 'bullmq';
import { readJobData, retryJob } from './dashboard-queues.ts';
import { openQueue, readRegistry } from './shards.ts';

/** A job that is out of attempts. Holds no personal data. */
export interface FailedJob {
  jobId: string;
  /** Why its last attempt failed. */
  reason: string;
  failedAt: Date;
}

export interface FailedJobDetails extends FailedJob {
  /** Attempts made since it was put in or retried. */
  attempts: number;
  /** Whether a stored submission was to be applied again. */
  replay: boolean;
  /** What it carries; null if this version cannot read it. */
  submission: Submission | null;
  /** As Redis holds it. */
  data: unknown;
}

/** Failed jobs of one reason. */
export interface FailedReason {
  reason: string;
  jobs: number;
  oldest: Date;
  newest: Date;
}

/** Why jobs failed, as far as was looked. */
export interface FailedReasons {
  /** Most jobs first. */
  reasons: FailedReason[];
  /** Jobs that were looked at, newest first. */
  looked: number;
  /** Whether those were all. */
  all: boolean;
}

export interface FailedFilter {
  /** The whole reason. */
  reason?: string;
  /** Only those that failed up to this moment: jobs that fail meanwhile are left out. */
  until?: Date;
  /** Only those that failed before this one, or in the same moment and come after it in the list. */
  before?: string;
}

export interface FailedJobs {
  /**
   * Why jobs failed. Looks at the newest 5,000, a page at a time: of a million, the reasons of the
   * last ones tell what is the matter, and Redis is not kept from leads.
   */
  reasons(): Promise<FailedReasons>;
  /** Those that fit, page by page. Jobs that leave the list meanwhile hold nothing up. */
  pages(order: 'oldest-first' | 'newest-first', filter?: FailedFilter): AsyncGenerator<FailedJob[]>;
  /** One job; null if none of this id has failed. */
  show(jobId: string): Promise<FailedJobDetails | null>;
  /** Puts a failed job back with all its attempts. False if none of this id has failed. */
  retry(jobId: string): Promise<boolean>;
  /** Takes a failed job out of Redis for good. False if none of this id has failed. */
  remove(jobId: string): Promise<boolean>;
  /** Leaves the connection open: it is the caller's. */
  close(): Promise<void>;
}

const PAGE = 500;
const MOST_LOOKED_AT = 5_000;

/**
 * Opens the failed jobs for an operator. Nothing is written by opening. Its functions reject when
 * Redis fails.
 */
export function openFailedJobs(redis: RedisConnection): FailedJobs {
  const opened = new Map<number, Queue>();
  const queueOf = (shard: number): Queue => {
    const queue = opened.get(shard) ?? openQueue(redis, shard);
    opened.set(shard, queue);
    return queue;
  };
  const queues = async (): Promise<Queue[]> =>
    (await readRegistry(redis)).shards.map(({ shard }) => queueOf(shard));

  /** The first shard that has it: after a change of QUEUE_SHARDS it may be in two. */
  async function find(
    jobId: string,
  ): Promise<{ job: Job; failedKey: string; time: number } | null> {
    for (const queue of await queues()) {
      const failedKey = queue.toKey('failed');
      const time = await redis.zscore(failedKey, jobId);
      const job = time === null ? undefined : ((await queue.getJob(jobId)) as Job | undefined);
      if (job !== undefined) return { job, failedKey, time: Number(time) };
    }
    return null;
  }

  async function* pages(
    order: 'oldest-first' | 'newest-first',
    { reason, until, before }: FailedFilter = {},
  ): AsyncGenerator<FailedJob[]> {
    const start = before === undefined ? null : await find(before);
    const walks = (await queues()).map((queue) =>
      failedOf(redis, queue, {
        order,
        pageSize: PAGE,
        ...(until !== undefined && { until: until.getTime() }),
        ...(start !== null && { after: { member: start.job.id ?? '', time: start.time } }),
      }),
    );
    for await (const jobs of mergePages(walks, (a, b) => comesFirst(a, b, order), PAGE))
      yield reason === undefined ? jobs : jobs.filter((job) => job.reason === reason);
  }

  return {
    pages,
    async reasons() {
      const found = new Map<string, FailedReason>();
      let looked = 0;
      let all = true;
      for await (const jobs of pages('newest-first')) {
        all = looked < MOST_LOOKED_AT;
        if (!all) break;
        looked += jobs.length;
        for (const { reason, failedAt } of jobs) {
          const one = found.get(reason) ?? { reason, jobs: 0, oldest: failedAt, newest: failedAt };
          found.set(reason, { ...one, jobs: one.jobs + 1, oldest: failedAt });
        }
      }
      const reasons = [...found.values()].sort((a, b) => b.jobs - a.jobs);
      return { reasons, looked, all };
    },
    async show(jobId) {
      const found = await find(jobId);
      return found === null ? null : detailsOf(found.job, jobId);
    },
    async retry(jobId) {
      const found = await find(jobId);
      if (found === null) return false;
      try {
        await retryJob(redis, found.job);
        return true;
      } catch (error) {
        return stillFailed(error, found.failedKey, jobId);
      }
    },
    async remove(jobId) {
      const found = await find(jobId);
      if (found === null) return false;
      try {
        await found.job.remove();
        return true;
      } catch (error) {
        return stillFailed(error, found.failedKey, jobId);
      }
    },
    close: async () => {
      await Promise.all([...opened.values()].map((queue) => queue.close()));
    },
  };

  /** Somebody else retried or removed it in the same moment; otherwise the error is thrown on. */
  async function stillFailed(error: unknown, failedKey: string, jobId: string): Promise<false> {
    if ((await redis.zscore(failedKey, jobId)) !== null) throw error;
    return false;
  }
}

/** The failed jobs of one shard, page by page. */
async function* failedOf(
  redis: RedisConnection,
  queue: Queue,
  walk: Parameters<typeof walkByTime>[2],
): AsyncGenerator<FailedJob[]> {
  for await (const entries of walkByTime(redis, queue.toKey('failed'), walk)) {
    const reasons = await reasonsOf(
      redis,
      entries.map(({ member }) => queue.toKey(member)),
    );
    yield entries.map(({ member, time }, i) => ({
      jobId: member,
      reason: reasons[i] ?? NO_REASON,
      failedAt: new Date(time),
    }));
  }
}

/** Keys of one shard are in one slot, and so may be asked for in one pipeline. */
async function reasonsOf(redis: RedisConnection, jobKeys: readonly string[]): Promise<string[]> {
  const pipeline = redis.pipeline();
  for (const key of jobKeys) pipeline.hget(key, 'failedReason');
  const replies = (await pipeline.exec()) ?? [];
  return replies.map(([error, reason]) => {
    if (error !== null) throw error;
    return typeof reason === 'string' ? reason : NO_REASON;
  });
}

/** The order of `walkByTime`, between shards. */
function comesFirst(a: FailedJob, b: FailedJob, order: 'oldest-first' | 'newest-first'): boolean {
  const [x, y] = [a.failedAt.getTime(), b.failedAt.getTime()];
  const isOlder = x === y ? a.jobId < b.jobId : x < y;
  return order === 'oldest-first' ? isOlder : !isOlder;
}

const NO_REASON = 'failed for an unknown reason';

function detailsOf(job: Job, jobId: string): FailedJobDetails {
  const data: unknown = job.data;
  return {
    jobId,
    reason: job.failedReason || NO_REASON,
    failedAt: new Date(job.finishedOn ?? job.timestamp),
    attempts: job.attemptsMade,
    replay: job.name.startsWith('replay'),
    submission: readJobData(data)?.submissions[0] ?? null,
    data,
  };
}

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

interface TimedMember {
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
