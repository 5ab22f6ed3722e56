import { groupCalls, type RedisConnection, type Log } from '@leadgate/boot';
import { LARGEST_GROUP, memberLine, packJob, type Submission } from '@leadgate/contract';
import { Queue } from 'bullmq';
import { v7 as uuidv7 } from 'uuid';
import { acceptedEntry, acceptedOf, type Accepted } from './accepted.ts';
import { queueCounts, type QueueCounts } from './counts.ts';
import { addJobs, BACKGROUND_PRIORITY, MANY_LEADS } from './jobs.ts';
import { PREFIX, queueName } from './queues.ts';
import { keepRegistered, type Registration } from './registration.ts';
import { shardOf } from './shards.ts';

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
        const lines = members.map(({ line }) => line);
        const [payload] = await Promise.all([packJob(lines, { replay }), registration.confirmed()]);
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
