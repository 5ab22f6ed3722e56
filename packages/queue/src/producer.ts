import { groupCalls, type RedisConnection } from '@leadgate/boot';
import { Queue } from 'bullmq';
import { encodeApplyJob, type Submission } from '@leadgate/contract';
import { addJobs, type NewJob } from './add-jobs.ts';
import { queueCounts, type QueueCounts } from './queue-counts.ts';
import type { Log } from './log.ts';
import { packJob, type PackedJob } from './packed-job.ts';
import { PREFIX, queueName, type JobName } from './queue-names.ts';
import { keepRegistered, type Registration } from './shards/registration.ts';
import { shardOf } from './shards/shard-of.ts';

export interface Producer {
  /**
   * Puts the submission in the queue as a job of the same id; resolves when Redis has it. A
   * submission that is waiting, running or failed already is left as it is, so calling again is
   * always safe; but with an `answeredLeadId` it is a job of that id's own, as the one that stands may
   * not know of it. Rejects when Redis failed or did not answer in time: the job may stand all the
   * same, and so may others of the group that Redis got with it. In the background, its turn comes
   * when no other waits.
   */
  enqueue(submission: Submission, options?: { background?: boolean }): Promise<void>;
  /**
   * Puts a stored submission in the queue to be applied again, in the background, under an id of its
   * own: once a run, however often it is told to. Otherwise as `enqueue`.
   */
  replay(submission: Submission, runId: string): Promise<void>;
  /** Of all shards, those counted in that others write to. */
  counts(): Promise<QueueCounts>;
  /** Leaves the connection open: it is the caller's. */
  close(): Promise<void>;
}

/** Attempts come 1, 2, 4 and 8 seconds after the one before. */
const RETRIES = { attempts: 5, delayMs: 1_000 };
/** Of BullMQ: the higher, the later, and jobs without one come first. */
const BACKGROUND = { priority: 10 };

/** One call carries at most this many jobs: it should not keep Redis from others for long. */
const LARGEST_GROUP = 200;

/** The stream of BullMQ's events is read by nobody but a dashboard. */
const EVENTS_KEPT = 1_000;

/**
 * Opens the queue for putting in, spread over so many shards by the lead. `redis` must be a connection
 * that fails fast (role `producer`); its version and eviction policy are for the caller to check. With
 * `waitReplicas`, what is put in counts as put in only when that many replicas have it; with fewer, the
 * call rejects after 300 ms.
 */
export async function openProducer(
  redis: RedisConnection,
  { logger, waitReplicas = 0, shards = 1 }: { logger: Log; waitReplicas?: number; shards?: number },
): Promise<Producer> {
  const numbers = Array.from({ length: shards }, (_, shard) => shard);
  const registration = keepRegistered(redis, numbers, logger);
  const opened = await Promise.all(
    numbers.map((shard) => openShard(redis, shard, { logger, waitReplicas, registration })),
  );
  const shardFor = ({ leadId }: Submission): OpenShard => {
    const shard = opened[shardOf(leadId, shards)];
    if (shard === undefined) throw new TypeError('a lead id is not a UUID');
    return shard;
  };
  return {
    // Not plain functions: what is thrown rejects.
    enqueue: async (submission, { background = false } = {}) => {
      const { addLater, addNow } = shardFor(submission);
      const { id, answeredLeadId } = submission;
      const jobId = answeredLeadId === undefined ? id : `alias-${answeredLeadId}`;
      await (background ? addLater : addNow)(jobOf('apply', submission, jobId));
    },
    replay: async (submission, runId) => {
      const job = jobOf('replay', submission, `${runId}-${submission.id}`);
      await shardFor(submission).addLater(job);
    },
    counts: () => queueCounts(redis),
    close: async () => {
      registration.close();
      await Promise.all(opened.map(({ queue }) => queue.close()));
    },
  };
}

interface OpenShard {
  queue: Queue<PackedJob, void, JobName>;
  /** Both resolve with the job once it is in. */
  addNow: (job: NewJob) => Promise<NewJob>;
  /** In the background. */
  addLater: (job: NewJob) => Promise<NewJob>;
}

async function openShard(
  redis: RedisConnection,
  shard: number,
  {
    logger,
    waitReplicas,
    registration,
  }: { logger: Log; waitReplicas: number; registration: Registration },
): Promise<OpenShard> {
  const queue = new Queue<PackedJob, void, JobName>(queueName(shard), {
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

  const grouped = (send: (jobs: NewJob[]) => Promise<unknown>) =>
    groupCalls(
      async (jobs: NewJob[]) => {
        await registration.confirmed();
        await send(jobs);
        return jobs;
      },
      { maxSize: LARGEST_GROUP },
    );
  const options = { ...RETRIES, replicas: waitReplicas };
  return {
    queue,
    addNow: grouped((jobs) => addJobs(redis, queue, jobs, options)),
    addLater: grouped((jobs) => addJobs(redis, queue, jobs, { ...options, ...BACKGROUND })),
  };
}

function jobOf(name: JobName, submission: Submission, id: string): NewJob {
  return { id, name, data: packJob(encodeApplyJob(submission)) };
}
