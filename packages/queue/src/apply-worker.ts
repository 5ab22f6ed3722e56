import { setTimeout as delay } from 'node:timers/promises';
import type { Log, RedisConnection } from '@leadgate/boot';
import { Worker } from 'bullmq';
import { LEADS, leadsField, leadsIn, settleCounter } from './counts.ts';
import { type Apply, createJobRunner, createLeadRoom } from './job-runner.ts';
import { openQueue, pauseShard, PREFIX, queueName, readRegistry } from './shards.ts';

export interface ApplyWorkerOptions extends Pick<
  ShardWorkerOptions,
  'logger' | 'apply' | 'lockMs'
> {
  /** Leads held at once, of all shards; of each that has work at least one job. */
  concurrency: number;
  /** The shards to take; all that there are, unless told. */
  shards?: readonly number[];
}

/** What comes of all shards, and how each stands: one that is stuck must not hide behind others. */
export interface Progress extends ShardProgress {
  shards: ({ shard: number } & ShardProgress)[];
}

export interface ApplyWorker extends Pick<ShardWorker, 'pause' | 'resume' | 'close'> {
  progress(): Progress;
}

/** Until jobs in a new shard are noticed. */
const LOOK_EVERY_MS = 2_000;

/**
 * Starts taking jobs, of every shard: those that are registered now and those that come later, old
 * ones that nobody writes to any more among them. One that is unregistered is let go. Each has a
 * BullMQ worker with a connection of its own for blocking reads; `redis`, which must be one that waits
 * for Redis (role `worker`), is for all of them.
 *
 * They share the leads that may be held: those that have work equally, and one that is empty takes its
 * share again with its first job.
 */
export async function startApplyWorker(
  redis: RedisConnection,
  { concurrency, shards, ...options }: ApplyWorkerOptions,
): Promise<ApplyWorker> {
  const { logger } = options;
  const taken = new Map<number, { worker: ShardWorker; idle: boolean }>();
  const stopping = new AbortController();
  const done = { processed: 0, left: 0 };
  let paused = false;

  const share = (): void => {
    const busy = [...taken.values()].filter(({ idle }) => !idle).length;
    const each = Math.max(1, Math.floor(concurrency / Math.max(1, busy)));
    for (const { worker, idle } of taken.values()) worker.holdAtMost(idle && busy > 0 ? 1 : each);
  };

  const take = async (shard: number): Promise<void> => {
    const worker = await startShardWorker(redis, {
      ...options,
      shard,
      concurrency: Math.max(1, Math.floor(concurrency / (taken.size + 1))),
      onIdle: (idle) => {
        const one = taken.get(shard);
        if (one === undefined) return;
        one.idle = idle;
        share();
      },
    });
    if (paused) worker.pause();
    taken.set(shard, { worker, idle: false });
    share();
  };

  const letGo = (shard: number): void => {
    const one = taken.get(shard);
    if (one === undefined) return;
    taken.delete(shard);
    share();
    done.processed += one.worker.progress().processed;
    done.left += one.worker.progress().left;
    one.worker
      .close({ timeoutMs: LET_GO_WITHIN_MS })
      .catch((err: unknown) => logger.warn({ err, shard }, 'a shard could not be let go'));
  };

  const look = async (): Promise<void> => {
    const registry = await readRegistry(redis);
    const wanted = shards ?? registry.shards.map(({ shard }) => shard);
    for (const shard of taken.keys()) if (!wanted.includes(shard)) letGo(shard);
    for (const shard of wanted) {
      if (taken.has(shard) || stopping.signal.aborted) continue;
      if (registry.paused) await pauseShard(redis, shard);
      await take(shard);
      if (taken.size > 1) logger.debug({ shard, shards: taken.size }, 'takes another shard');
    }
  };

  const keepLooking = async (): Promise<void> => {
    for (;;) {
      await delay(LOOK_EVERY_MS, undefined, { ref: false, signal: stopping.signal });
      await look().catch((err: unknown) => logger.debug({ err }, 'the shards are not known'));
    }
  };

  await look();
  keepLooking().catch(() => undefined);

  const each = (act: (worker: ShardWorker) => void): void =>
    taken.forEach(({ worker }) => act(worker));
  return {
    pause() {
      paused = true;
      each((worker) => worker.pause());
    },
    resume() {
      paused = false;
      each((worker) => worker.resume());
    },
    progress() {
      const standing = [...taken].map(([shard, { worker }]) => ({ shard, ...worker.progress() }));
      return {
        processed: standing.reduce((sum, one) => sum + one.processed, done.processed),
        active: standing.reduce((sum, one) => sum + one.active, 0),
        lastProgressAt: Math.max(...standing.map((one) => one.lastProgressAt)),
        refusal: standing.find((one) => one.refusal !== null)?.refusal ?? null,
        unknownVersion: standing.find((one) => one.unknownVersion !== null)?.unknownVersion ?? null,
        left: standing.reduce((sum, one) => sum + one.left, done.left),
        shards: standing,
      };
    },
    async close(limit) {
      stopping.abort();
      await Promise.all([...taken.values()].map(({ worker }) => worker.close(limit)));
    },
  };
}

/** It is empty; its last job may still be under way. */
const LET_GO_WITHIN_MS = 60_000;

interface ShardWorkerOptions {
  shard: number;
  /** Leads held at once, or one job. */
  concurrency: number;
  logger: Log;
  apply: Apply;
  /** Milliseconds that a worker which went away keeps its jobs. */
  lockMs?: number;
  /** Told when the shard is found empty, and when there is a job again. */
  onIdle?: (idle: boolean) => void;
}

/** For telling a worker that is at work, or has none, from one that is stuck. */
interface ShardProgress {
  /** Leads whose jobs were completed or failed since the start. */
  processed: number;
  /** Milliseconds since 1970: the last time a job was done or the shard was found empty. */
  lastProgressAt: number;
  /** Leads held now. */
  active: number;
  /** How Redis refuses to let the worker work: `OOM` if it is full, `READONLY`, …; else null. */
  refusal: string | null;
  /** The version of jobs that only a newer worker can read, when one was met just now; else null. */
  unknownVersion: number | null;
  /** How often such a job was left to a newer worker. */
  left: number;
}

interface ShardWorker {
  /** Takes no new jobs; those held go on. Their locks are renewed for as long as it lasts. */
  pause(): void;
  resume(): void;
  /** Leads, from now on; jobs held beyond it go on. */
  holdAtMost(leads: number): void;
  progress(): ShardProgress;
  /**
   * Takes no new jobs and waits for those held. Rejects after `timeoutMs` if some still run then:
   * another worker runs them again. If all have run and Redis cannot be told so, it resolves three
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

/** At an ordinary rate a queue is empty hundreds of times a second. */
const SETTLE_AFTER_MS = 250;

/** What only a newer worker can read is looked at again after this long. */
const LEAVE_FOR_MS = 5_000;

/**
 * Of a blocking read, in seconds: shorter than what a connection may be silent, so that only a dead one
 * is. BullMQ would wait up to ten for a delayed job.
 */
const LONGEST_BLOCK_S = 3;

class BullWorker extends Worker {
  override get maximumBlockTimeout(): number {
    return LONGEST_BLOCK_S;
  }
}

/**
 * Starts taking the jobs of a shard. `redis` must be a connection that waits for Redis (role
 * `worker`); a second one is opened from it for blocking reads and closed with the worker.
 */
async function startShardWorker(
  redis: RedisConnection,
  { shard, concurrency, logger, apply, lockMs = LOCK_MS, onIdle }: ShardWorkerOptions,
): Promise<ShardWorker> {
  const progress = {
    processed: 0,
    lastProgressAt: Date.now(),
    active: 0,
    left: 0,
    unknown: { version: 0, at: -Infinity },
  };

  let idle = false;
  const noteIdle = (now: boolean): void => {
    if (now === idle) return;
    idle = now;
    onIdle?.(now);
  };

  const queue = openQueue(redis, shard);
  const room = createLeadRoom(concurrency, (jobs) => void (worker.concurrency = jobs));
  const runner = createJobRunner(redis, queue, {
    apply,
    room,
    logger,
    onRefused: (error) => worker.emit('error', error),
    onUnknownVersion(version) {
      progress.left += 1;
      progress.unknown = { version, at: performance.now() };
      if (holds.addFor('newer version', LEAVE_FOR_MS))
        logger.warn({ version }, 'jobs of a newer version wait for a newer worker');
    },
  });
  const worker: Worker = new BullWorker(
    queueName(shard),
    async (job, token) => {
      noteIdle(false);
      const leads = leadsIn(job.name);
      progress.active += leads;
      room.enter(leads);
      try {
        await runner.run(job, token ?? '');
      } finally {
        progress.active -= leads;
        room.leave(leads);
      }
    },
    {
      connection: redis,
      prefix: PREFIX,
      autorun: false,
      concurrency: 1,
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

  let settling: NodeJS.Timeout | undefined;
  const settleSoon = (): void => {
    settling ??= setTimeout(() => {
      settling = undefined;
      settleCounter(redis, queue).catch((err: unknown) =>
        logger.debug({ err }, 'the counter of leads was not set right'),
      );
    }, SETTLE_AFTER_MS);
  };
  const moved = (job: { name: string; opts: { priority?: number } }): void => {
    const leads = leadsIn(job.name);
    progress.processed += leads;
    progress.lastProgressAt = Date.now();
    redis
      .hincrby(queue.toKey(LEADS), leadsField(job.opts.priority), -leads)
      .catch((err: unknown) => logger.debug({ err }, 'leads were not counted'));
    if (idle && progress.active === 0) settleSoon();
  };
  worker.on('completed', moved);
  worker.on('failed', (job) => {
    progress.lastProgressAt = Date.now();
    if (job?.finishedOn !== undefined) moved(job);
  });
  worker.on('drained', () => {
    progress.lastProgressAt = Date.now();
    noteIdle(true);
    settleSoon();
  });
  const holds = createHolds(worker);
  const refusal = logAndBackOff(worker, holds, logger);
  await Promise.all([worker.waitUntilReady(), queue.waitUntilReady()]);
  room.allow(concurrency);
  worker.run().catch((err: unknown) => logger.error({ err }, 'taking jobs ended'));

  return {
    pause: () => holds.add('caller'),
    resume: () => holds.remove('caller'),
    holdAtMost: room.allow,
    progress() {
      const { processed, lastProgressAt, active, left, unknown } = progress;
      const isRecent = performance.now() - unknown.at < 2 * LEAVE_FOR_MS;
      const unknownVersion = isRecent ? unknown.version : null;
      return { processed, lastProgressAt, active, refusal: refusal(), left, unknownVersion };
    },
    async close({ timeoutMs }) {
      runner.stop();
      clearTimeout(settling);
      await closeWithin(worker, timeoutMs, { running: runner.running, progress, logger });
      await queue.close();
    },
  };
}

interface Holds {
  add(reason: string): void;
  /** False if it holds for this reason already. */
  addFor(reason: string, ms: number): boolean;
  remove(reason: string): void;
}

/** The worker is paused for as long as anybody has a reason for it. */
function createHolds(worker: Worker): Holds {
  const reasons = new Set<string>();
  const holds: Holds = {
    add(reason) {
      reasons.add(reason);
      void worker.pause(true);
    },
    addFor(reason, ms) {
      if (reasons.has(reason) || worker.closing) return false;
      holds.add(reason);
      setTimeout(() => holds.remove(reason), ms).unref();
      return true;
    },
    remove(reason) {
      if (reasons.delete(reason) && reasons.size === 0 && !worker.closing) void worker.resume();
    },
  };
  return holds;
}

const SHORTEST_BACK_OFF_MS = 250;
const LONGEST_BACK_OFF_MS = 5_000;

/**
 * When Redis refuses (full above all), BullMQ would try again at once, in a tight loop. Each
 * refusal doubles the pause; a pause without one sets it back.
 */
function logAndBackOff(worker: Worker, holds: Holds, logger: Log): () => string | null {
  let pauseMs = SHORTEST_BACK_OFF_MS;
  let lastRefusal = 0;
  let lastWord: string | null = null;
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
    const next = isOver() ? SHORTEST_BACK_OFF_MS : Math.min(2 * pauseMs, LONGEST_BACK_OFF_MS);
    if (!holds.addFor('refused', next)) return;
    pauseMs = next;
    lastRefusal = Date.now();
    lastWord = word;
    logger.error({ err, pauseMs }, TOLD[word] ?? 'Redis refuses; taking no jobs for a moment');
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
  worker: Worker,
  timeoutMs: number,
  {
    running,
    progress,
    logger,
  }: {
    running: () => number;
    progress: Readonly<Pick<ShardProgress, 'active' | 'processed'>>;
    logger: Log;
  },
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
      throw new Error(`${running()} leads were still being applied after ${timeoutMs} ms`);
    const standing = `${running()} ${progress.active} ${progress.processed}`;
    if (standing !== before || running() > 0) stillSince = now;
    before = standing;
    if (now - stillSince > TELL_WITHIN_MS || now - start > timeoutMs + TELL_WITHIN_MS) {
      logger.warn(
        { leads: progress.active },
        'Redis cannot be told what has become of jobs; another worker finds out',
      );
      return;
    }
  }
}

const CLOSE_LOOK_MS = 50;
