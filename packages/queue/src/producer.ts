import { Queue, type JobsOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { encodeApplyJob, type Submission } from '@leadgate/contract';
import { countsOf, type QueueCounts } from './queue-counts.ts';
import { groupCalls } from './group-calls.ts';
import type { Log } from './log.ts';
import { packJob, type PackedJob } from './packed-job.ts';
import { APPLY_QUEUE, PREFIX, type JobName } from './queue-names.ts';

export interface Producer {
  /**
   * Puts the submission in the queue as a job of the same id; resolves when Redis has it. A
   * submission that is waiting, running or failed already is left as it is, so calling again is
   * always safe. Rejects when Redis failed or did not answer in time: the job may stand all the
   * same, and so may others of the group that Redis got with it.
   */
  enqueue(submission: Submission): Promise<void>;
  counts(): Promise<QueueCounts>;
  /** Leaves the connection open: it is the caller's. */
  close(): Promise<void>;
}

/** Attempts come 1, 2, 4 and 8 seconds after the one before. */
const JOB: JobsOptions = { attempts: 5, backoff: { type: 'exponential', delay: 1_000 } };

/** One pipeline carries at most this many jobs: it should not keep Redis from others for long. */
const LARGEST_GROUP = 200;

/** The stream of BullMQ's events is read by nobody but a dashboard. */
const EVENTS_KEPT = 1_000;

/**
 * Opens the queue for putting in. `redis` must be a connection that fails fast (role `producer`);
 * its version and eviction policy are for the caller to check.
 */
export async function openProducer(redis: Redis, { logger }: { logger: Log }): Promise<Producer> {
  const queue = new Queue<PackedJob, void, JobName>(APPLY_QUEUE, {
    connection: redis,
    prefix: PREFIX,
    streams: { events: { maxLen: EVENTS_KEPT } },
    // Otherwise every add would wait for Redis to come back, however long that takes.
    skipWaitingForReady: true,
    skipVersionCheck: true,
  });
  // BullMQ repeats the connection's own errors here; whoever opened it has logged them.
  queue.on('error', (err) => logger.debug({ err }, 'queue error'));
  // Scripts are defined before traffic: a late definition breaks a pipeline in the same tick.
  await queue.waitUntilReady();

  const enqueue = groupCalls(
    (submissions: Submission[]) =>
      queue.addBulk(
        submissions.map((submission) => ({
          name: 'apply',
          data: packJob(encodeApplyJob(submission)),
          opts: { ...JOB, jobId: submission.id },
        })),
      ),
    { maxSize: LARGEST_GROUP },
  );
  return {
    enqueue,
    counts: () => countsOf(queue),
    close: () => queue.close(),
  };
}
