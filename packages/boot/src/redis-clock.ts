import type { RedisConnection } from './redis-connection.ts';

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
