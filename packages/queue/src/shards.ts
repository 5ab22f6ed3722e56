import { type Log, type RedisConnection, redisScript } from '@leadgate/boot';
import { Queue } from 'bullmq';
import { Type } from 'typebox';

/**
 * Hash: shard → when a producer last said that it writes to it (ms, Redis's clock); under PAUSED,
 * whether the queue is. What workers take, and what everybody looks at.
 */
const SHARDS = 'leadgate:shards';
const PAUSED = 'paused';

/** One queue among those that the jobs are spread over. */
export interface Shard {
  shard: number;
  /** Milliseconds since a producer last said that it writes to it; null: never. */
  heardAgoMs: number | null;
  /** Whether producers write to it. Others are left over from a larger QUEUE_SHARDS. */
  inUse: boolean;
}

/** How the jobs are spread, and whether the queue, as a whole, is paused. */
export interface Registry {
  /** By number. The first is always among them, so that there is one before anybody has spoken. */
  shards: Shard[];
  paused: boolean;
}

/**
 * A producer says every ten seconds that it writes, and writes nothing thirty seconds after it last
 * did: with a command of ten seconds at most, nothing is written to a shard that counts as left over.
 */
const HEARD_EVERY_MS = 10_000;
const SILENT_AFTER_MS = 30_000;
const LEFT_OVER_AFTER_MS = 60_000;

const NOW = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/** ARGV: shards. Returns 1 if the queue is paused. */
const registerScript = redisScript(`#!lua
${NOW}
for i = 1, #ARGV do redis.call('HSET', KEYS[1], ARGV[i], string.format('%.0f', now)) end
return redis.call('HEXISTS', KEYS[1], '${PAUSED}')`);

const readScript = redisScript(`${NOW}
return { now, redis.call('HGETALL', KEYS[1]) }`);

/** ARGV: shard, milliseconds of silence that it takes. Returns 1 if nobody has spoken since. */
const unregisterScript = redisScript(`#!lua
${NOW}
local heard = redis.call('HGET', KEYS[1], ARGV[1])
if heard and now - tonumber(heard) < tonumber(ARGV[2]) then return 0 end
redis.call('HDEL', KEYS[1], ARGV[1])
return 1`);

/** Says that shards are written to. Returns whether the queue is paused. */
export async function registerShards(
  redis: RedisConnection,
  shards: readonly number[],
): Promise<boolean> {
  return (await registerScript(redis, [SHARDS], [...shards])) === 1;
}

/** Takes a left-over shard off. False if a producer has spoken for it again. */
export async function unregisterShard(redis: RedisConnection, shard: number): Promise<boolean> {
  return (await unregisterScript(redis, [SHARDS], [shard, LEFT_OVER_AFTER_MS])) === 1;
}

/** Notes whether the queue is paused, for shards to come. */
async function notePaused(redis: RedisConnection, paused: boolean): Promise<void> {
  if (paused) await redis.hset(SHARDS, PAUSED, 1);
  else await redis.hdel(SHARDS, PAUSED);
}

/** Rejects when Redis does not answer. */
export async function readRegistry(redis: RedisConnection): Promise<Registry> {
  const reply = await readScript(redis, [SHARDS], []);
  const [now, fields] = Array.isArray(reply) ? (reply as unknown[]) : [];
  const flat = Array.isArray(fields) ? fields.map(String) : [];
  const heard = new Map([[0, null as number | null]]);
  let paused = false;
  for (let i = 0; i + 1 < flat.length; i += 2) {
    if (flat[i] === PAUSED) paused = true;
    else heard.set(Number(flat[i]), Number(flat[i + 1]));
  }
  const shards = [...heard]
    .map(([shard, at]) => {
      const heardAgoMs = at === null ? null : Math.max(0, Number(now) - at);
      return { shard, heardAgoMs, inUse: heardAgoMs !== null && heardAgoMs < LEFT_OVER_AFTER_MS };
    })
    .sort((a, b) => a.shard - b.shard);
  return { shards, paused };
}

/**
 * How many shards producers write to now, for one that is not told: 1 if none has spoken lately.
 * Rejects when Redis does not answer.
 */
export async function shardsInUse(redis: RedisConnection): Promise<number> {
  const { shards } = await readRegistry(redis);
  const last = shards.findLast(({ inUse }) => inUse);
  return (last?.shard ?? 0) + 1;
}

/**
 * The shard of a lead's jobs if there are `shards` of them: the last 32 bits of its id (a UUID,
 * which ends in random ones) modulo that. All jobs of a lead are in one, so that no two transactions
 * wait for the same lead's row when each worker takes some shards; nothing else depends on it.
 */
export function shardOf(leadId: string, shards: number): number {
  return shards === 1 ? 0 : Number.parseInt(leadId.slice(-8), 16) % shards;
}

/** More would be more connections of every worker, and gain nothing. */
const MOST_SHARDS = 256;

/** `QUEUE_SHARDS`: over how many shards jobs are spread. The same for whoever puts jobs in. */
export const queueShardsSetting = () =>
  Type.Integer({
    description:
      'over how many shards of the queue leads are spread, the same for receivers, console and command line: one for a single Redis, some for each master of a Cluster',
    default: 1,
    minimum: 1,
    maximum: MOST_SHARDS,
  });

/** `WORKER_SHARDS`: which shards a worker takes. */
export const workerShardsSetting = () =>
  Type.Array(Type.String({ pattern: '^\\d{1,3}$' }), {
    description:
      'the shards that the worker takes, by number from 0; all there are, unless given. Each must be taken by some worker',
    default: [],
    examples: ['0,1'],
  });

/** Every key of BullMQ starts with it. */
export const PREFIX = 'leadgate';

/** One queue a shard; braces, so that its keys share a slot of a Redis Cluster. */
export const queueName = (shard: number): string => `{leads-${shard}}`;

/** For looking at a queue, or putting in what is there already: nothing is written by opening it. */
export const LOOKING = {
  prefix: PREFIX,
  skipMetasUpdate: true,
  skipWaitingForReady: true,
  skipVersionCheck: true,
};

/** Opens the queue of a shard for looking at it. Leaves the connection open. */
export function openQueue(redis: RedisConnection, shard: number): Queue {
  const queue = new Queue(queueName(shard), { connection: redis, ...LOOKING });
  // BullMQ repeats the connection's own errors here; what is asked of it rejects by itself.
  queue.on('error', () => {});
  return queue;
}

/** Opens the queue of a shard, and closes it again. */
export async function withQueue<T>(
  redis: RedisConnection,
  shard: number,
  use: (queue: Queue) => Promise<T>,
): Promise<T> {
  const queue = openQueue(redis, shard);
  try {
    return await use(queue);
  } finally {
    await queue.close();
  }
}

/** The same for the queue of every shard that there is. */
export async function withQueues<T>(
  redis: RedisConnection,
  use: (queue: Queue, shard: Shard) => Promise<T>,
): Promise<T[]> {
  const { shards } = await readRegistry(redis);
  return Promise.all(shards.map((one) => withQueue(redis, one.shard, (queue) => use(queue, one))));
}

/**
 * Pauses the queue, all its shards, for every worker: leads are taken and wait. Jobs that run are
 * finished. Pausing again changes nothing. If it rejects, some shards may be paused: do it again.
 */
export async function pauseQueue(redis: RedisConnection): Promise<void> {
  // First: a shard that comes after the others were listed is paused by whoever registers it.
  await notePaused(redis, true);
  await withQueues(redis, (queue) => queue.pause());
}

/** Lets workers take jobs again. */
export async function resumeQueue(redis: RedisConnection): Promise<void> {
  await notePaused(redis, false);
  await withQueues(redis, (queue) => queue.resume());
}

/** For a shard that comes while the queue is paused: before anything is taken from it. */
export async function pauseShard(redis: RedisConnection, shard: number): Promise<void> {
  await withQueue(redis, shard, async (queue) => {
    if (await queue.isPaused()) return;
    await queue.pause();
    // Resumed meanwhile, perhaps before this shard was paused.
    if (!(await readRegistry(redis)).paused) await queue.resume();
  });
}

/** Keeps workers knowing of the shards that a producer writes to. */
export interface Registration {
  /**
   * To be awaited before each write: that workers know of the shards was confirmed lately, or is now.
   * Rejects when Redis fails.
   */
  confirmed(): Promise<void> | undefined;
  close(): void;
}

/**
 * Registers shards at once, every ten seconds, and whenever the connection is ready again, as Redis
 * may have come back empty. Failures are tried again; only `confirmed` tells of them.
 */
export function keepRegistered(
  redis: RedisConnection,
  shards: readonly number[],
  logger: Log,
): Registration {
  let lastConfirmed = -Infinity;
  let registering: Promise<void> | null = null;

  const register = (): Promise<void> => {
    registering ??= (async () => {
      const start = performance.now();
      if (await registerShards(redis, shards))
        for (const shard of shards) await pauseShard(redis, shard);
      lastConfirmed = start;
    })().finally(() => (registering = null));
    return registering;
  };
  const tryNow = (): void => {
    register().catch((err: unknown) => logger.debug({ err }, 'the shards were not registered'));
  };
  tryNow();
  redis.on('ready', tryNow);
  const timer = setInterval(tryNow, HEARD_EVERY_MS).unref();

  return {
    confirmed: () => (performance.now() - lastConfirmed < SILENT_AFTER_MS ? undefined : register()),
    close() {
      clearInterval(timer);
      redis.off('ready', tryNow);
    },
  };
}
