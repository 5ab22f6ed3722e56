import { Queue, type JobsOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { encodeApplyJob, type Submission } from '@leadgate/contract';
import { addJobs, type NewJob } from './add-jobs.ts';
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
   * same, and so may others of the group that Redis got with it. In the background, its turn comes
   * when no other waits.
   */
  enqueue(submission: Submission, options?: { background?: boolean }): Promise<void>;
  /**
   * Puts a stored submission in the queue to be applied again, in the background, under an id of its
   * own: once a run, however often it is told to. Otherwise as `enqueue`.
   */
  replay(submission: Submission, runId: string): Promise<void>;
  /**
   * Has `answeredLeadId` stand for the submission's lead, where the submission was enqueued without
   * it: a job of that id's own, which a worker applies as a repetition. Otherwise as `enqueue`.
   */
  enqueueAlias(submission: Submission & { answeredLeadId: string }): Promise<void>;
  counts(): Promise<QueueCounts>;
  /** Leaves the connection open: it is the caller's. */
  close(): Promise<void>;
}

/** Attempts come 1, 2, 4 and 8 seconds after the one before. */
const RETRIES = { attempts: 5, delayMs: 1_000 };
const BULK_JOB: JobsOptions = {
  attempts: RETRIES.attempts,
  backoff: { type: 'exponential', delay: RETRIES.delayMs },
};

/** Of BullMQ: the higher, the later, and jobs without one come first. */
const BACKGROUND = { priority: 10 };

/** One call carries at most this many jobs: it should not keep Redis from others for long. */
const LARGEST_GROUP = 200;

/** The stream of BullMQ's events is read by nobody but a dashboard. */
const EVENTS_KEPT = 1_000;

/** Of WAIT: less than a command of the producer may take. */
const REPLICAS_WITHIN_MS = 300;

/**
 * Opens the queue for putting in. `redis` must be a connection that fails fast (role `producer`);
 * its version and eviction policy are for the caller to check. With `waitReplicas`, what is put in
 * counts as put in only when that many replicas have it; with fewer, the call rejects after 300 ms.
 */
export async function openProducer(
  redis: Redis,
  { logger, waitReplicas = 0 }: { logger: Log; waitReplicas?: number },
): Promise<Producer> {
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

  const grouped = <T>(send: (items: T[]) => Promise<unknown>) =>
    groupCalls(
      async (items: T[]) => {
        await send(items);
        if (waitReplicas > 0) await awaitReplicas(redis, waitReplicas);
      },
      { maxSize: LARGEST_GROUP },
    );
  const addNow = grouped((jobs: NewJob[]) => addJobs(redis, queue, jobs, RETRIES));
  const addLater = grouped((jobs: NewJob[]) =>
    queue.addBulk(
      jobs.map(({ id, name, data }) => ({
        name,
        data,
        opts: { ...BULK_JOB, ...BACKGROUND, jobId: id },
      })),
    ),
  );
  return {
    enqueue: (submission, { background = false } = {}) =>
      (background ? addLater : addNow)(jobOf('apply', submission, submission.id)),
    replay: (submission, runId) =>
      addLater(jobOf('replay', submission, `${runId}-${submission.id}`)),
    enqueueAlias: (submission) =>
      addNow(jobOf('apply', submission, `alias-${submission.answeredLeadId}`)),
    counts: () => countsOf(queue),
    close: () => queue.close(),
  };
}

/** WAIT speaks of all that this connection wrote before it: of the reservations too. */
async function awaitReplicas(redis: Redis, count: number): Promise<void> {
  const reached = await redis.wait(count, REPLICAS_WITHIN_MS);
  if (reached < count)
    throw new Error(`${reached} of ${count} replicas had it within ${REPLICAS_WITHIN_MS} ms`);
}

function jobOf(name: JobName, submission: Submission, id: string): NewJob {
  return { id, name, data: packJob(encodeApplyJob(submission)) };
}
