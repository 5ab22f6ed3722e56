import { setTimeout as delay } from 'node:timers/promises';
import type { RedisConnection } from '@leadgate/boot';
import { UnrecoverableError, WaitingError, Worker, type Job } from 'bullmq';
import { decodeApplyJob, type Submission } from '@leadgate/contract';
import { groupCompletions } from './complete-jobs.ts';
import { AttemptFailed, GiveBack } from './job-outcome.ts';
import type { Log } from './log.ts';
import { unpackJob } from './packed-job.ts';
import { PREFIX, queueName, type JobName } from './queue-names.ts';

/**
 * Of a blocking read, in seconds: shorter than what a connection may be silent, so that only a dead one
 * is. BullMQ would wait up to ten for a delayed job.
 */
const LONGEST_BLOCK_S = 3;

class BullWorker extends Worker<unknown, void, JobName> {
  override get maximumBlockTimeout(): number {
    return LONGEST_BLOCK_S;
  }
}

/** What is known of a job besides its submission. */
export interface JobInfo {
  /** 1 for the first. Jobs given back do not count up. */
  attempt: number;
  /** How often a worker went away while it had this job. */
  stalls: number;
  /** Whether a stored submission is to be applied again. */
  replay: boolean;
}

export interface ShardWorkerOptions {
  shard: number;
  /** Jobs held at once. */
  concurrency: number;
  logger: Log;
  /**
   * Applies the submission; the job is completed when it resolves. It may run twice for one
   * submission. Throws GiveBack or AttemptFailed; of anything else only the type and code are kept.
   */
  apply: (submission: Submission, info: JobInfo) => Promise<void>;
  /** Milliseconds that a worker which went away keeps its jobs. */
  lockMs?: number;
  /** Told when the shard is found empty, and when there is a job again. */
  onIdle?: (idle: boolean) => void;
}

/** For telling a worker that is at work, or has none, from one that is stuck. */
export interface ShardProgress {
  /** Jobs completed or failed since the start. */
  processed: number;
  /** Milliseconds since 1970: the last time a job was done or the shard was found empty. */
  lastProgressAt: number;
  /** Jobs held now. */
  active: number;
  /** How Redis refuses to let the worker work: `OOM` where it is full, `READONLY`, …; else null. */
  refusal: string | null;
}

export interface ShardWorker {
  /** Takes no new jobs; those held go on. Their locks are renewed for as long as it lasts. */
  pause(): void;
  resume(): void;
  /** From now on; jobs held beyond it go on. */
  holdAtMost(jobs: number): void;
  progress(): ShardProgress;
  /**
   * Takes no new jobs and waits for those held. Rejects after `timeoutMs` where some still run then:
   * another worker runs them again. Where all have run and Redis cannot be told so, it resolves three
   * seconds later: they are run again too, which changes nothing. Leaves the connection open: it is the
   * caller's.
   */
  close(options: { timeoutMs: number }): Promise<void>;
}

/**
 * A job whose worker went away is started again, however often: what it does is idempotent, and a
 * killed process says nothing about the job. BullMQ would fail it at the second time.
 */
const STALLS_ALLOWED = 1_000_000;

const LOCK_MS = 20_000;

/** How long a worker that closes waits for Redis to hear what has become of its jobs. */
const TELL_WITHIN_MS = 3_000;

/**
 * Starts taking the jobs of a shard. `redis` must be a connection that waits for Redis (role
 * `worker`); a second one is opened from it for blocking reads and closed with the worker.
 */
export async function startShardWorker(
  redis: RedisConnection,
  { shard, concurrency, logger, apply, lockMs = LOCK_MS, onIdle }: ShardWorkerOptions,
): Promise<ShardWorker> {
  const progress: ShardProgress = {
    processed: 0,
    lastProgressAt: Date.now(),
    active: 0,
    refusal: null,
  };

  let running = 0;
  const counted: ShardWorkerOptions['apply'] = async (submission, info) => {
    running++;
    try {
      await apply(submission, info);
    } finally {
      running--;
    }
  };

  let idle = false;
  const noteIdle = (now: boolean): void => {
    if (now === idle) return;
    idle = now;
    onIdle?.(now);
  };

  const worker = new BullWorker(
    queueName(shard),
    async (job, token) => {
      noteIdle(false);
      progress.active++;
      try {
        await run(job, token, counted, logger);
      } finally {
        progress.active--;
      }
    },
    {
      connection: redis,
      prefix: PREFIX,
      autorun: false,
      concurrency,
      maxStalledCount: STALLS_ALLOWED,
      lockDuration: lockMs,
      stalledInterval: lockMs / 2,
      // Milliseconds until the next try once Redis refused a connection; the default is 15,000.
      runRetryDelay: 1_000,
      drainDelay: LONGEST_BLOCK_S,
      skipVersionCheck: true,
      removeOnComplete: { count: 0 },
      // No removeOnFail: a failed job is somebody's lead.
    },
  );

  const moved = (): void => {
    progress.processed++;
    progress.lastProgressAt = Date.now();
  };
  worker.on('completed', moved);
  worker.on('failed', moved);
  worker.on('drained', () => {
    progress.lastProgressAt = Date.now();
    noteIdle(true);
  });
  const holds = createHolds(worker);
  const refusal = logAndBackOff(worker, holds, logger);
  await worker.waitUntilReady();
  groupCompletions(redis);
  worker.run().catch((err: unknown) => logger.error({ err }, 'taking jobs ended'));

  return {
    pause: () => holds.add('caller'),
    resume: () => holds.remove('caller'),
    holdAtMost: (jobs) => void (worker.concurrency = jobs),
    progress: () => ({ ...progress, refusal: refusal() }),
    close: ({ timeoutMs }) =>
      closeWithin(worker, timeoutMs, { running: () => running, progress, logger }),
  };
}

async function run(
  job: Job<unknown, void, JobName>,
  token: string | undefined,
  apply: ShardWorkerOptions['apply'],
  logger: Log,
): Promise<void> {
  const submission = decode(job.data);
  const attempt = job.attemptsMade + 1;
  try {
    await apply(submission, { attempt, stalls: job.stalledCounter, replay: job.name === 'replay' });
  } catch (error) {
    if (error instanceof GiveBack) {
      await job.moveToWait(token);
      throw new WaitingError();
    }
    logger.warn({ submissionId: submission.id, attempt, err: error }, 'attempt failed');
    // BullMQ keeps the message and the stack with the job, and nothing of the cause.
    throw new Error(reasonToKeep(error), { cause: error });
  }
}

function decode(data: unknown): Submission {
  try {
    return decodeApplyJob(unpackJob(data));
  } catch {
    throw new UnrecoverableError('the job is not one that this version of the worker understands');
  }
}

/** The message of an unexpected error may quote a value: its type and code have to do. */
function reasonToKeep(error: unknown): string {
  if (error instanceof AttemptFailed) return error.message;
  if (!(error instanceof Error)) return 'failed for an unknown reason';
  const code: unknown = Reflect.get(error, 'code');
  return `failed with ${error.constructor.name}${typeof code === 'string' ? ` (${code})` : ''}`;
}

interface Holds {
  add(reason: string): void;
  remove(reason: string): void;
}

/** The worker is paused for as long as anybody has a reason for it. */
function createHolds(worker: BullWorker): Holds {
  const reasons = new Set<string>();
  return {
    add(reason) {
      reasons.add(reason);
      void worker.pause(true);
    },
    remove(reason) {
      if (reasons.delete(reason) && reasons.size === 0 && !worker.closing) void worker.resume();
    },
  };
}

const SHORTEST_BACK_OFF_MS = 250;
const LONGEST_BACK_OFF_MS = 5_000;

/**
 * When Redis refuses (full above all), BullMQ would try again at once, in a tight loop. Each
 * refusal doubles the pause; a pause without one sets it back.
 */
function logAndBackOff(worker: BullWorker, holds: Holds, logger: Log): () => string | null {
  let pauseMs = SHORTEST_BACK_OFF_MS;
  let lastRefusal = 0;
  let lastWord: string | null = null;
  let holding = false;
  const isOver = () => Date.now() - lastRefusal > 2 * pauseMs;
  worker.on('lockRenewalFailed', (jobIds) =>
    logger.warn({ jobs: jobIds.length }, 'lost the locks of jobs; another worker may run them too'),
  );
  worker.on('error', (err) => {
    const word = refusalOf(err);
    if (word === null) {
      logger.debug({ err }, 'queue error');
      return;
    }
    if (holding || worker.closing) return;
    pauseMs = isOver() ? SHORTEST_BACK_OFF_MS : Math.min(2 * pauseMs, LONGEST_BACK_OFF_MS);
    lastRefusal = Date.now();
    lastWord = word;
    holding = true;
    logger.error({ err, pauseMs }, TOLD[word] ?? 'Redis refuses; taking no jobs for a moment');
    holds.add('refused');
    setTimeout(() => {
      holding = false;
      holds.remove('refused');
    }, pauseMs).unref();
  });
  return () => (isOver() ? null : lastWord);
}

const TOLD: Record<string, string> = {
  OOM: 'Redis is full: raise maxmemory; taking no jobs for a moment',
};

/** Answers of Redis that will come again: full, cannot write to disk, a replica, no permission. */
function refusalOf(error: Error): string | null {
  const refusal = /^(OOM|MISCONF|READONLY|NOREPLICAS|LOADING|BUSY|NOAUTH|WRONGPASS|NOPERM)\b/.exec(
    error.message,
  );
  return refusal?.[1] ?? null;
}

async function closeWithin(
  worker: BullWorker,
  timeoutMs: number,
  {
    running,
    progress,
    logger,
  }: { running: () => number; progress: Readonly<ShardProgress>; logger: Log },
): Promise<void> {
  let isClosed = false;
  const closed = worker.close().finally(() => (isClosed = true));
  // It may fail when nobody waits for it any longer.
  closed.catch(() => undefined);
  const start = performance.now();
  let before = '';
  let stillSince = start;
  for (;;) {
    await Promise.race([closed, delay(CLOSE_LOOK_MS, undefined, { ref: false })]);
    if (isClosed) return;
    const now = performance.now();
    if (running() > 0 && now - start > timeoutMs)
      throw new Error(`${running()} jobs were still running after ${timeoutMs} ms`);
    const standing = `${running()} ${progress.active} ${progress.processed}`;
    if (standing !== before || running() > 0) stillSince = now;
    before = standing;
    if (now - stillSince > TELL_WITHIN_MS || now - start > timeoutMs + TELL_WITHIN_MS) {
      logger.warn(
        { jobs: progress.active },
        'Redis cannot be told what has become of jobs; another worker finds out',
      );
      return;
    }
  }
}

const CLOSE_LOOK_MS = 50;
