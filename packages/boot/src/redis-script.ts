import { createHash } from 'node:crypto';
import type { RedisConnection } from './redis.ts';

/** A Lua script that can be called on any connection. Its keys are in one slot of a Cluster. */
export type RedisScript = (
  redis: RedisConnection,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
  options?: ScriptOptions,
) => Promise<unknown>;

interface ScriptOptions {
  /** Replicas that must have what the script wrote before it counts as done. */
  replicas?: number;
}

/** Of WAIT: less than a command of a producer may take. */
const REPLICAS_WITHIN_MS = 300;

/**
 * Makes a script of Lua source. Called by its hash, and with its source if the server does not
 * know it (first use, restart, failover), so nothing has to be loaded before.
 *
 * With `replicas` it rejects when fewer have what it wrote after 300 ms; it has run all the same.
 */
export function redisScript(source: string): RedisScript {
  const sha = createHash('sha1').update(source).digest('hex');
  return async (redis, keys, args, { replicas = 0 } = {}) => {
    const call = (name: 'evalsha' | 'eval', text: string): Promise<unknown> =>
      replicas > 0
        ? callAndWait(redis, { name, text, keys, args }, replicas)
        : redis[name](text, keys.length, ...keys, ...args);
    try {
      return await call('evalsha', sha);
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
      return call('eval', source);
    }
  };
}

interface Call {
  name: 'evalsha' | 'eval';
  text: string;
  keys: readonly string[];
  args: readonly (string | number | Buffer)[];
}

/**
 * WAIT speaks of what its own connection wrote: in one pipeline with the call it goes where that goes,
 * to the same node of a Cluster. A pipeline is not sent on to where its slot has moved, as WAIT has
 * run; so a read of the slot is, after which the Cluster knows where it is.
 */
async function callAndWait(redis: RedisConnection, call: Call, replicas: number): Promise<unknown> {
  let replies = await callInPipeline(redis, call, replicas);
  if (replies[0]?.[0]?.message.startsWith('MOVED') === true) {
    await redis.exists(call.keys[0] ?? '');
    replies = await callInPipeline(redis, call, replicas);
  }
  for (const [error] of replies) if (error !== null) throw error;
  const reached = Number(replies[1]?.[1]);
  if (reached < replicas)
    throw new Error(`${reached} of ${replicas} replicas had it within ${REPLICAS_WITHIN_MS} ms`);
  return replies[0]?.[1];
}

async function callInPipeline(
  redis: RedisConnection,
  { name, text, keys, args }: Call,
  replicas: number,
): Promise<[error: Error | null, value: unknown][]> {
  const pipeline = redis.pipeline();
  pipeline[name](text, keys.length, ...keys, ...args);
  pipeline.wait(replicas, REPLICAS_WITHIN_MS);
  return (await pipeline.exec()) ?? [];
}

/** Redis's time, in milliseconds since 1970 with their fractions; of a Cluster, that of one node. */
export async function redisTime(redis: RedisConnection): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return Number(seconds) * 1_000 + Number(microseconds) / 1_000;
}

/** How often Redis is asked: a quartz drifts a few milliseconds in this time. */
const ASK_EVERY_MS = 30_000;

/**
 * Redis's clock, as far as a process can know it without asking: all processes of one Redis agree to
 * within the time of an answer, whatever their machines believe. It goes on while Redis is away, by
 * this process's monotonic clock. Until Redis was heard once, it is the machine's.
 */
export interface RedisClock {
  /** Milliseconds since 1970. */
  now: () => number;
  close: () => void;
}

/** Asks when the connection is ready, and every half minute. Wants a connection that fails fast. */
export function startRedisClock(redis: RedisConnection): RedisClock {
  /** What performance.now() lacks to Redis's time. */
  let ahead: number | null = null;
  const ask = (): void => {
    const asked = performance.now();
    redisTime(redis).then(
      (time) => {
        const answered = performance.now();
        ahead = time - (asked + answered) / 2;
      },
      () => undefined,
    );
  };
  redis.on('ready', ask);
  if (redis.status === 'ready') ask();
  const timer = setInterval(ask, ASK_EVERY_MS).unref();
  return {
    now: () => (ahead === null ? Date.now() : Math.round(performance.now() + ahead)),
    close: () => {
      clearInterval(timer);
      redis.off('ready', ask);
    },
  };
}
