import { setTimeout as delay } from 'node:timers/promises';
import type { RedisConnection } from '@leadgate/boot';
import {
  startShardWorker,
  type ShardProgress,
  type ShardWorker,
  type ShardWorkerOptions,
} from './shard-worker.ts';
import { pauseShard } from './queues.ts';
import { readRegistry } from './shards.ts';

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
