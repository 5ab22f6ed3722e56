import { groupCalls, type Log, type RedisConnection } from '@leadgate/boot';
import {
  type JobPayload,
  LARGEST_GROUP,
  memberLine,
  packJob,
  type Submission,
} from '@leadgate/contract';
import { Job, type JobsOptions, Queue } from 'bullmq';
import { v7 as uuidv7 } from 'uuid';
import {
  type Accepted,
  ACCEPTED,
  acceptedEntry,
  acceptedOf,
  MOST_ACCEPTED,
  jobName,
  LEADS,
  leadsField,
  queueCounts,
  type QueueCounts,
} from './counts.ts';
import { keepRegistered, PREFIX, queueName, type Registration, shardOf } from './shards.ts';

export interface Producer {
  /**
   * Puts the submission in the queue, in one job with others of its shard that come in the same
   * moment; resolves when Redis has it. It may stand there more than once and is applied once, so
   * calling again is always safe. With an `answeredLeadId` it is told from the same submission
   * without: that id is made to stand for the lead as well. Rejects when Redis failed or did not answer in time: the job may
   * stand all the same. In the background, its turn comes when no other waits. A repeat is not counted as
   * accepted again.
   */
  enqueue(
    submission: Submission,
    options?: { background?: boolean; repeat?: boolean },
  ): Promise<void>;
  /**
   * Puts a stored submission in the queue to be applied again, in the background. `runId` tells the
   * job that it would have by itself from those of other runs. Otherwise as `enqueue`.
   */
  replay(submission: Submission, runId: string): Promise<void>;
  /** Of all shards, those counted in that others write to. */
  counts(): Promise<QueueCounts>;
  /** Leaves the connection open: it is the caller's. */
  close(): Promise<void>;
}

/** What a post may wait for others while they are many. */
const SPACING_MS = 4;

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
    enqueue: async (submission, { background = false, repeat = false } = {}) => {
      const { addLater, addNow } = shardFor(submission);
      const { id, answeredLeadId } = submission;
      const jobId = answeredLeadId === undefined ? id : `alias-${answeredLeadId}`;
      const line = memberLine({ jobId, submission });
      const accepted = acceptedOf(submission, { repeat });
      await (background ? addLater : addNow)({ line, accepted });
    },
    replay: async (submission, runId) => {
      const jobId = `${runId}-${submission.id}`;
      await shardFor(submission).replay({ line: memberLine({ jobId, submission }) });
    },
    counts: () => queueCounts(redis),
    close: async () => {
      registration.close();
      await Promise.all(opened.map(({ queue }) => queue.close()));
    },
  };
}

/** A submission of a job to be. */
interface Member {
  line: string;
  /** Not of a replay: it was accepted before. */
  accepted?: Accepted;
}

/** Resolves once the member is in. */
type Add = (member: Member) => Promise<unknown>;

interface OpenShard {
  queue: Queue;
  addNow: Add;
  /** In the background. */
  addLater: Add;
  replay: Add;
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
  const queue = new Queue(queueName(shard), {
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

  // A job has its price, whatever it holds: of many posts a second several go together.
  const grouped = ({ replay, background }: { replay: boolean; background: boolean }): Add =>
    groupCalls(
      async (members: Member[]) => {
        await registration.confirmed();
        const lines = members.map(({ line }) => line);
        const payload = packJob(lines, { replay });
        // Always fresh: BullMQ drops an id that it has, and with it every other lead of the group.
        const id = uuidv7();
        const options = { ...MANY_LEADS, ...(background && { priority: BACKGROUND_PRIORITY }) };
        const accepted = members.flatMap((member) => member.accepted ?? []);
        const job = {
          ...{ id, payload, options },
          ...(accepted.length > 0 && { accepted: acceptedEntry(accepted) }),
        };
        await addJobs(redis, queue, [job], { replicas: waitReplicas });
        return members;
      },
      {
        name: 'enqueue',
        maxSize: LARGEST_GROUP.submissions,
        weigh: ({ line }) => line.length,
        maxWeight: LARGEST_GROUP.bytes,
        spacingMs: SPACING_MS,
      },
    );
  return {
    queue,
    addNow: grouped({ replay: false, background: false }),
    addLater: grouped({ replay: false, background: true }),
    replay: grouped({ replay: true, background: true }),
  };
}

/** Of BullMQ: the higher, the later, and jobs without one come first. */
const BACKGROUND_PRIORITY = 10;

/** A job of one submission is tried again 1, 2, 4 and 8 seconds after the try before. */
export const ONE_LEAD: JobsOptions = {
  attempts: 5,
  backoff: { type: 'exponential', delay: 1_000 },
};

/**
 * A job of many never fails as a whole: what of it cannot be applied gets a job of its own. This is
 * for what should not happen.
 */
const MANY_LEADS: JobsOptions = {
  attempts: 1_000_000,
  backoff: { type: 'fixed', delay: 1_000 },
};

export interface NewJob {
  /** One that stands there already stays as it is. */
  id: string;
  payload: JobPayload;
  options: JobsOptions;
  /** What is noted in the stream of accepted submissions with it, of `acceptedEntry`. */
  accepted?: string;
}

/** Less than a command of a producer may take. */
const REPLICAS_WITHIN_MS = 300;

/**
 * Puts jobs in a queue and counts their leads, in one transaction: all jobs or, when Redis is full,
 * none. With `replicas` it rejects when fewer have them after 300 ms; they stand all the same.
 */
export async function addJobs(
  redis: RedisConnection,
  queue: Queue,
  jobs: readonly NewJob[],
  { replicas = 0 }: { replicas?: number } = {},
): Promise<void> {
  if (replicas > 0 && tooFew.has(queue)) {
    // Its caller tries again: what is put in each time would stand in the queue as often.
    requireReplicas(queue, await sendAll(queue, [], replicas), replicas);
    tooFew.delete(queue);
  }
  let replies = await sendAll(queue, jobs, replicas);
  let error = errorIn(replies);
  if (error?.message.startsWith('MOVED') === true) {
    // A transaction is not sent on to where its slot has moved, and a read of the slot is.
    await redis.exists(queue.toKey(LEADS));
    replies = await sendAll(queue, jobs, replicas);
    error = errorIn(replies);
  }
  if (error?.message.startsWith('NOSCRIPT') === true) {
    // Redis was started since: its leads are counted, and outside of a transaction it is told the script.
    await queue.addBulk(
      jobs.map(({ id, payload, options }) => ({
        name: jobName(payload),
        data: payload,
        opts: { ...options, jobId: id },
      })),
    );
    if (replicas === 0) return;
    replies = await sendAll(queue, [], replicas);
    error = errorIn(replies);
  }
  if (error !== undefined) throw error;
  if (replicas > 0) requireReplicas(queue, replies, replicas);
}

/** Queues that had fewer replicas than was asked for when something was last put in. */
const tooFew = new WeakSet<Queue>();

function requireReplicas(queue: Queue, replies: Replies, replicas: number): void {
  const reached = Number(replies.at(-1)?.[1] ?? 0);
  if (reached >= replicas) return;
  tooFew.add(queue);
  throw new Error(`${reached} of ${replicas} replicas had it within ${REPLICAS_WITHIN_MS} ms`);
}

type Replies = [Error | null, unknown][];

async function sendAll(queue: Queue, jobs: readonly NewJob[], replicas: number): Promise<Replies> {
  const pipeline = (await queue.backend.client).pipeline();
  const leads = queue.toKey(LEADS);
  pipeline.runCommand('multi', []);
  // Also tells a pipeline of a Cluster which node it is for.
  if (jobs.length === 0) pipeline.runCommand('exists', [leads]);
  for (const { id, payload, options, accepted } of jobs) {
    const job = new Job(queue, jobName(payload), payload, { ...options, jobId: id }, id);
    // What it resolves with is the pipeline: its reply is that of EXEC.
    void job.addJob(pipeline);
    pipeline.runCommand('hincrby', [leads, leadsField(options.priority), String(payload.n)]);
    if (accepted !== undefined)
      pipeline.runCommand('xadd', [
        queue.toKey(ACCEPTED),
        ...['MAXLEN', '~', MOST_ACCEPTED, '*', 'a', accepted],
      ]);
  }
  pipeline.runCommand('exec', []);
  // Of what this connection wrote: where the transaction went.
  if (replicas > 0) pipeline.runCommand('wait', [replicas, REPLICAS_WITHIN_MS]);
  return (await pipeline.exec()) ?? [];
}

/** What was refused, when it was queued or within the transaction: EXEC itself tells in its reply only. */
function errorIn(replies: Replies): Error | undefined {
  const errors = replies.flatMap(([error, reply]): unknown[] =>
    error === null ? [reply].flat() : [error],
  );
  const found = errors.filter((one) => one instanceof Error);
  // What a transaction was discarded for says more than that it was.
  return found.find(({ message }) => !message.startsWith('EXECABORT')) ?? found[0];
}

/** Gives a failed job all its attempts again: an exhausted one would have a single one otherwise. */
export const FRESH_ATTEMPTS = { resetAttemptsMade: true, resetAttemptsStarted: true };
