import { Queue, type Job } from 'bullmq';
import type { Redis } from 'ioredis';
import { decodeApplyJob, type Submission } from '@leadgate/contract';
import { unpackJob } from '../packed-job.ts';
import { APPLY_QUEUE, PREFIX } from '../queue-names.ts';
import { walkByTime } from './walk-by-time.ts';

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
  /** What it carries; null where this version cannot read it. */
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

export interface FailedFilter {
  /** The whole reason. */
  reason?: string;
  /** Only those that failed up to this moment: jobs that fail meanwhile are left out. */
  until?: Date;
  /** Only those that failed before this one, or in the same moment and come after it in the list. */
  before?: string;
}

export interface FailedJobs {
  /** Reasons, most jobs first. Reads all failed jobs, a page at a time. */
  reasons(): Promise<FailedReason[]>;
  /** Those that fit, page by page. Jobs that leave the list meanwhile hold nothing up. */
  pages(order: 'oldest-first' | 'newest-first', filter?: FailedFilter): AsyncGenerator<FailedJob[]>;
  /** One job; null where none of this id has failed. */
  show(jobId: string): Promise<FailedJobDetails | null>;
  /** Puts a failed job back with all its attempts. False where none of this id has failed. */
  retry(jobId: string): Promise<boolean>;
  /** Takes a failed job out of Redis for good. False where none of this id has failed. */
  remove(jobId: string): Promise<boolean>;
  /** Leaves the connection open: it is the caller's. */
  close(): Promise<void>;
}

const PAGE = 500;

/**
 * Opens the failed jobs for an operator. Nothing is written by opening. Its functions reject when
 * Redis fails.
 */
export function openFailedJobs(redis: Redis): FailedJobs {
  const queue = new Queue(APPLY_QUEUE, {
    connection: redis,
    prefix: PREFIX,
    skipMetasUpdate: true,
    skipWaitingForReady: true,
    skipVersionCheck: true,
  });
  // BullMQ repeats the connection's own errors here; what is asked of it rejects by itself.
  queue.on('error', () => {});
  const failedKey = queue.toKey('failed');

  async function find(jobId: string): Promise<Job | null> {
    if ((await redis.zscore(failedKey, jobId)) === null) return null;
    return ((await queue.getJob(jobId)) as Job | undefined) ?? null;
  }

  async function reasonsOf(jobIds: readonly string[]): Promise<string[]> {
    const pipeline = redis.pipeline();
    for (const jobId of jobIds) pipeline.hget(queue.toKey(jobId), 'failedReason');
    const replies = (await pipeline.exec()) ?? [];
    return replies.map(([error, reason]) => {
      if (error !== null) throw error;
      return typeof reason === 'string' ? reason : NO_REASON;
    });
  }

  async function* pages(
    order: 'oldest-first' | 'newest-first',
    { reason, until, before }: FailedFilter = {},
  ): AsyncGenerator<FailedJob[]> {
    const start = before === undefined ? null : await positionOf(redis, failedKey, before);
    const walk = walkByTime(redis, failedKey, {
      order,
      pageSize: PAGE,
      ...(until !== undefined && { until: until.getTime() }),
      ...(start !== null && { after: start }),
    });
    for await (const entries of walk) {
      const reasons = await reasonsOf(entries.map(({ member }) => member));
      const jobs = entries.map(({ member, time }, i) => ({
        jobId: member,
        reason: reasons[i] ?? NO_REASON,
        failedAt: new Date(time),
      }));
      yield reason === undefined ? jobs : jobs.filter((job) => job.reason === reason);
    }
  }

  return {
    pages,
    async reasons() {
      const found = new Map<string, FailedReason>();
      for await (const jobs of pages('oldest-first'))
        for (const { reason, failedAt } of jobs) {
          const one = found.get(reason) ?? { reason, jobs: 0, oldest: failedAt, newest: failedAt };
          found.set(reason, { ...one, jobs: one.jobs + 1, newest: failedAt });
        }
      return [...found.values()].sort((a, b) => b.jobs - a.jobs);
    },
    async show(jobId) {
      const job = await find(jobId);
      return job === null ? null : detailsOf(job, jobId);
    },
    async retry(jobId) {
      const job = await find(jobId);
      if (job === null) return false;
      try {
        // Without this an exhausted job would have a single attempt.
        await job.retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true });
        return true;
      } catch (error) {
        return stillFailed(error, jobId);
      }
    },
    async remove(jobId) {
      const job = await find(jobId);
      if (job === null) return false;
      try {
        await job.remove();
        return true;
      } catch (error) {
        return stillFailed(error, jobId);
      }
    },
    close: () => queue.close(),
  };

  /** Somebody else retried or removed it in the same moment; otherwise the error is thrown on. */
  async function stillFailed(error: unknown, jobId: string): Promise<false> {
    if ((await redis.zscore(failedKey, jobId)) !== null) throw error;
    return false;
  }
}

const NO_REASON = 'failed for an unknown reason';

async function positionOf(redis: Redis, key: string, member: string) {
  const time = await redis.zscore(key, member);
  return time === null ? null : { member, time: Number(time) };
}

function detailsOf(job: Job, jobId: string): FailedJobDetails {
  const data: unknown = job.data;
  return {
    jobId,
    reason: job.failedReason || NO_REASON,
    failedAt: new Date(job.finishedOn ?? job.timestamp),
    attempts: job.attemptsMade,
    replay: job.name === 'replay',
    submission: readSubmission(data),
    data,
  };
}

function readSubmission(data: unknown): Submission | null {
  try {
    return decodeApplyJob(unpackJob(data));
  } catch {
    return null;
  }
}
