import { Job, Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { decodeApplyJob } from '@leadgate/contract';
import type { Log } from './log.ts';
import { unpackJob } from './packed-job.ts';
import { APPLY_QUEUE, PREFIX } from './queue-names.ts';

/** Opened and closed by whoever shows the queue. */
export type DashboardQueue = Queue;

/**
 * Opens the queue for a dashboard, which shows jobs and retries them. Jobs are shown as the
 * submissions that they carry, and a retried one has all its attempts again. Nothing is written by
 * opening. Leaves the connection open: it is the caller's.
 */
export async function openDashboardQueue(
  redis: Redis,
  { logger }: { logger: Log },
): Promise<DashboardQueue> {
  const queue = new ReadableQueue(APPLY_QUEUE, {
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

class ReadableQueue extends Queue {
  protected override get Job(): typeof Job {
    return ReadableJob;
  }
}

class ReadableJob extends Job {
  /** Its attempts start again: an exhausted job would have a single one otherwise. */
  override retry(state: Parameters<Job['retry']>[0] = 'failed'): Promise<void> {
    return super.retry(state, { resetAttemptsMade: true, resetAttemptsStarted: true });
  }

  override toJSON(): ReturnType<Job['toJSON']> {
    return { ...super.toJSON(), data: readData(this.data) };
  }
}

/** The submission of a job; a word where its data is not one that this version understands. */
function readData(data: unknown): unknown {
  try {
    return decodeApplyJob(unpackJob(data));
  } catch {
    return 'not readable by this version';
  }
}
