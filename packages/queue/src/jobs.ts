import type { RedisConnection } from '@leadgate/boot';
import { readJob, type Submission, unpackJobSync } from '@leadgate/contract';
import type { Job, Queue } from 'bullmq';
import { setTimeout as delay } from 'node:timers/promises';
import { LEADS, leadsField, leadsIn } from './counts.ts';
import { FRESH_ATTEMPTS } from './producer.ts';
import { openQueue, PREFIX, readRegistry, withQueues } from './shards.ts';

/** What a job carries. */
interface JobContent {
  leads: number;
  /** Those that this version can read. */
  submissions: Submission[];
}

/** What a job's data carries; null if this version does not understand it. */
export function readJobData(data: unknown): JobContent | null {
  const reading = readJob(data);
  if (reading.kind !== 'readable') return null;
  try {
    const submissions = unpackJobSync(reading.payload).flatMap((member) =>
      member.kind === 'read' ? [member.submission] : [],
    );
    return { leads: reading.payload.n, submissions };
  } catch {
    return null;
  }
}

/** Gives a failed job all its attempts again. Rejects if it has not failed. */
async function retryJob(redis: RedisConnection, job: Job): Promise<void> {
  await job.retry('failed', FRESH_ATTEMPTS);
  await countAgain(redis, job);
}

/** Its leads had been counted off. */
export async function countAgain(
  redis: RedisConnection,
  job: Pick<Job, 'name' | 'opts' | 'queueName'>,
): Promise<void> {
  const key = `${PREFIX}:${job.queueName}:${LEADS}`;
  await redis.hincrby(key, leadsField(job.opts.priority), leadsIn(job.name));
}

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
    retry: (jobId) => change(jobId, (job) => retryJob(redis, job)),
    remove: (jobId) => change(jobId, (job) => job.remove()),
    close: async () => {
      await Promise.all([...opened.values()].map((queue) => queue.close()));
    },
  };

  /** False if none of this id has failed, or it was retried or removed elsewhere in the same moment. */
  async function change(jobId: string, act: (job: Job) => Promise<void>): Promise<boolean> {
    const found = await find(jobId);
    if (found === null) return false;
    try {
      await act(found.job);
      return true;
    } catch (error) {
      if ((await redis.zscore(found.failedKey, jobId)) !== null) throw error;
      return false;
    }
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

/** Jobs are read whole. */
const JOBS_A_PAGE = 100;

/** How long an erasure waits for what workers hold of the person. */
const HELD_MS = 10_000;
const LOOK_EVERY_MS = 50;

/**
 * Takes jobs out of the queue that carry nothing but what fits, of those that no worker is about to
 * take: failed ones, and those that wait for their next attempt. What waits is the worker's to drop, and
 * goes with its job. What a worker holds now may have begun before there was a tombstone, and fail for good:
 * its end is waited for first. Returns how many leads they carried; `dryRun` only counts.
 */
export async function eraseJobs(
  redis: RedisConnection,
  fits: (submission: Submission) => boolean,
  { dryRun }: { dryRun: boolean },
): Promise<number> {
  const counts = await withQueues(redis, async (queue) => {
    if (!dryRun) await untilLetGo(queue, fits);
    let erased = 0;
    for (const state of ['failed', 'delayed'] as const)
      for (const job of await jobsThatFit(redis, queue, state, fits)) {
        const leads = leadsIn(job.name);
        if (!dryRun) {
          // Retried in this moment: the worker drops it.
          if (!(await remove(job))) continue;
          if (state === 'delayed')
            await redis.hincrby(queue.toKey(LEADS), leadsField(job.opts.priority), -leads);
        }
        erased += leads;
      }
    return erased;
  });
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Waits for the end of what workers hold now of what fits; not for ever: one that hangs is seen again by its worker. */
async function untilLetGo(queue: Queue, fits: (submission: Submission) => boolean): Promise<void> {
  const active = (await queue.getActive()) as (Job | undefined)[];
  let held = active.filter(
    (job): job is Job =>
      job !== undefined && (readJobData(job.data)?.submissions.some(fits) ?? false),
  );
  const until = performance.now() + HELD_MS;
  while (held.length > 0 && performance.now() < until) {
    await delay(LOOK_EVERY_MS);
    const still = await Promise.all(held.map((job) => job.isActive()));
    held = held.filter((_, n) => still[n]);
  }
}

/** What failed jobs and those that wait for their next attempt carry, of what fits. */
export async function failedSubmissions(
  redis: RedisConnection,
  fits: (submission: Submission) => boolean,
): Promise<Submission[]> {
  const found = await withQueues(redis, async (queue) => {
    const jobs = await Promise.all(
      (['failed', 'delayed'] as const).map((state) => jobsThatFit(redis, queue, state, fits)),
    );
    return jobs.flat().flatMap((job) => readJobData(job.data)?.submissions ?? []);
  });
  return found.flat();
}

const STATES = ['wait', 'active', 'delayed', 'prioritized', 'failed'] as const;

/**
 * The leads for which something is in the queue, waiting, being applied or failed, under the ids that were
 * reserved and answered; null if that is more than `most` jobs.
 */
export async function leadsInQueue(
  redis: RedisConnection,
  most: number,
): Promise<Set<string> | null> {
  const found = await withQueues(redis, async (queue) => {
    if ((await queue.getJobCountByTypes(...STATES)) > most) return null;
    const jobs = (await queue.getJobs([...STATES])) as (Job | undefined)[];
    return jobs.flatMap((job) => {
      const content = job === undefined ? null : readJobData(job.data);
      return (content?.submissions ?? []).flatMap(({ leadId, answeredLeadId, identities }) => [
        ...[leadId, answeredLeadId ?? []].flat(),
        ...identities.flatMap(({ owner }) => owner ?? []),
      ]);
    });
  });
  const ids = found.flatMap((one) => one ?? []);
  return found.includes(null) ? null : new Set(ids);
}

async function jobsThatFit(
  redis: RedisConnection,
  queue: Queue,
  state: 'failed' | 'delayed',
  fits: (submission: Submission) => boolean,
): Promise<Job[]> {
  const found: Job[] = [];
  const walk = { order: 'oldest-first' as const, pageSize: JOBS_A_PAGE };
  for await (const page of walkByTime(redis, queue.toKey(state), walk))
    for (const job of await Promise.all(page.map(({ member }) => queue.getJob(member)))) {
      const one = job as Job | undefined;
      const content = one === undefined ? null : readJobData(one.data);
      if (one === undefined || content === null || content.submissions.length === 0) continue;
      if (content.submissions.length === content.leads && content.submissions.every(fits))
        found.push(one);
    }
  return found;
}

async function remove(job: Job): Promise<boolean> {
  try {
    await job.remove();
    return true;
  } catch {
    // Locked by a worker.
    return false;
  }
}

/** Of submissions, those that have a job that failed, or that is tried again. */
export async function failedAmong(
  redis: RedisConnection,
  ids: ReadonlySet<string>,
): Promise<Set<string>> {
  if (ids.size === 0) return new Set();
  const found = await failedSubmissions(redis, ({ id }) => ids.has(id));
  return new Set(found.map(({ id }) => id));
}
