import { Job, Queue, type JobProgress } from 'bullmq';
import type { Redis } from 'ioredis';
import { decodeApplyJob, type Submission } from '@leadgate/contract';
import type { Log } from './log.ts';
import { unpackJob } from './packed-job.ts';
import { APPLY_QUEUE, PREFIX } from './queue-names.ts';

/** Opened and closed by whoever shows the queue. */
export type DashboardQueue = Queue;

/**
 * Opens the queue for a dashboard, which shows jobs and retries them: a retried one has all its
 * attempts again. `readJobData` reads what they carry. Nothing is written by opening. Leaves the
 * connection open: it is the caller's.
 */
export async function openDashboardQueue(
  redis: Redis,
  { logger }: { logger: Log },
): Promise<DashboardQueue> {
  const queue = new RetryingQueue(APPLY_QUEUE, {
    connection: redis,
    prefix: PREFIX,
    skipMetasUpdate: true,
    skipWaitingForReady: true,
    skipVersionCheck: true,
  });
  queue.on('error', (err) => logger.debug({ err }, 'queue error'));
  await queue.waitUntilReady();
  return queue;
}

class RetryingQueue extends Queue {
  protected override get Job(): typeof Job {
    return FreshJob;
  }
}

class FreshJob<Data, Result, Name extends string, Progress extends JobProgress> extends Job<
  Data,
  Result,
  Name,
  Progress
> {
  /** Its attempts start again: an exhausted job would have a single one otherwise. */
  override retry(state: Parameters<Job['retry']>[0] = 'failed'): Promise<void> {
    return super.retry(state, { resetAttemptsMade: true, resetAttemptsStarted: true });
  }
}

/** The submission that a job's data carries; null where this version does not understand it. */
export function readJobData(data: unknown): Submission | null {
  try {
    return decodeApplyJob(unpackJob(data));
  } catch {
    return null;
  }
}
