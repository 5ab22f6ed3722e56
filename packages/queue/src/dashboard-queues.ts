import type { RedisConnection, Log } from '@leadgate/boot';
import { Job, Queue, type JobProgress } from 'bullmq';
import { countAgain } from './jobs.ts';
import { FRESH_ATTEMPTS } from './producer.ts';
import { LOOKING, pauseQueue, queueName, readRegistry, resumeQueue } from './shards.ts';

/** The queue of a shard as a dashboard shows it. */
export type DashboardQueue = Queue;

/** The queues for a dashboard, one a shard. */
export interface DashboardQueues {
  /** Those that there are now, by shard; the same array for as long as they are the same. */
  current(): Promise<readonly DashboardQueue[]>;
  /** Leaves the connection open: it is the caller's. */
  close(): Promise<void>;
}

/**
 * Opens the queues for a dashboard, which shows jobs and retries them: a retried one has all its
 * attempts again. To pause or resume one is to pause or resume all. `readJobData` reads what jobs
 * carry. Nothing is written by opening.
 */
export function openDashboardQueues(
  redis: RedisConnection,
  { logger }: { logger: Log },
): DashboardQueues {
  const opened = new Map<number, DashboardQueue>();
  let current: DashboardQueue[] = [];
  const open = (shard: number): DashboardQueue => {
    const queue = new RetryingQueue(redis, shard);
    queue.on('error', (err) => logger.debug({ err }, 'queue error'));
    opened.set(shard, queue);
    return queue;
  };
  return {
    async current() {
      const { shards } = await readRegistry(redis);
      const queues = shards.map(({ shard }) => opened.get(shard) ?? open(shard));
      await Promise.all(queues.map((queue) => queue.waitUntilReady()));
      const isSame = queues.length === current.length && queues.every((q, i) => q === current[i]);
      if (!isSame) current = queues;
      return current;
    },
    close: async () => {
      await Promise.all([...opened.values()].map((queue) => queue.close()));
    },
  };
}

class RetryingQueue extends Queue {
  readonly #redis: RedisConnection;
  readonly #job: typeof Job;

  constructor(redis: RedisConnection, shard: number) {
    super(queueName(shard), { connection: redis, ...LOOKING });
    this.#redis = redis;
    this.#job = jobOf(redis);
  }

  protected override get Job(): typeof Job {
    return this.#job;
  }

  override pause(): Promise<void> {
    return pauseQueue(this.#redis);
  }

  override resume(): Promise<void> {
    return resumeQueue(this.#redis);
  }
}

/** Sorted sets that hold jobs by state: what one of them has is found at once. */
const SORTED_STATES = ['failed', 'delayed', 'prioritized', 'completed'] as const;

function jobOf(redis: RedisConnection): typeof Job {
  return class FreshJob<
    Data,
    Result,
    Name extends string,
    Progress extends JobProgress,
  > extends Job<Data, Result, Name, Progress> {
    /** Its attempts start again: an exhausted job would have a single one otherwise. */
    override async retry(state: Parameters<Job['retry']>[0] = 'failed'): Promise<void> {
      await super.retry(state, FRESH_ATTEMPTS);
      await countAgain(redis, this);
    }

    /**
     * BullMQ looks through all that wait: with a million, Redis answers nobody else for a second and
     * a half. Here, what is there and stands nowhere else waits.
     */
    override async getState(): ReturnType<Job['getState']> {
      const id = this.id ?? '';
      const [scores, active, exists] = await Promise.all([
        Promise.all(SORTED_STATES.map((state) => redis.zscore(this.toKey(state), id))),
        redis.lpos(this.toKey('active'), id),
        redis.exists(this.toKey(id)),
      ]);
      const sorted = SORTED_STATES.find((_, n) => scores[n] !== null);
      if (sorted !== undefined) return sorted;
      if (active !== null) return 'active';
      return exists === 1 ? 'waiting' : 'unknown';
    }
  };
}
