import type { JobPayload } from '@leadgate/contract';
import type { RedisConnection } from '@leadgate/boot';
import { Job, type JobsOptions, type Queue } from 'bullmq';
import { ACCEPTED, MOST_ACCEPTED } from './accepted.ts';

/**
 * Hash beside the keys of a queue: how many leads its jobs carry that have neither been completed nor
 * failed, those in the background by themselves. Moved with each job; see `countsOf` for how far it
 * is believed.
 */
export const LEADS = 'leads';
export type LeadsField = 'now' | 'background';

/** Of BullMQ: the higher, the later, and jobs without one come first. */
export const BACKGROUND_PRIORITY = 10;

export const leadsField = (priority: number | undefined): LeadsField =>
  (priority ?? 0) > 0 ? 'background' : 'now';

/** Jobs are named by what they are about, so that their leads are counted without reading them. */
const jobName = ({ n, r }: Pick<JobPayload, 'n' | 'r'>): string =>
  `${r === 1 ? 'replay' : 'apply'} ${n}`;

/** How many leads a job of this name carries. */
export const leadsIn = (name: string): number => Number(/ (\d+)$/.exec(name)?.[1] ?? 1);

/** A job of one submission is tried again 1, 2, 4 and 8 seconds after the try before. */
export const ONE_LEAD: JobsOptions = {
  attempts: 5,
  backoff: { type: 'exponential', delay: 1_000 },
};

/**
 * A job of many never fails as a whole: what of it cannot be applied gets a job of its own. This is
 * for what should not happen.
 */
export const MANY_LEADS: JobsOptions = {
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
