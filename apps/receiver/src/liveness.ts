import {
  answerWithin,
  awaitRedis,
  connectRedis,
  mastersOf,
  type RedisConnection,
} from '@leadgate/boot';
import type { ReceiverConfig } from './config.ts';

export interface Liveness {
  /** Milliseconds for which this process alone has been cut off, if that is longer than its window. */
  cutOffMs: () => number | null;
  close: () => void;
}

const ANSWER_TIMEOUT_MS = 1_000;

/**
 * Watches whether a start would help: this process's own connections to Redis are not answered, and one
 * that is made to find out is. A Redis that answers nobody is no reason to start again, nor is it after
 * it came back. Looked at four times a window, one look at a time.
 */
export function watchLiveness(
  { redis, subscriber }: { redis: RedisConnection; subscriber: RedisConnection },
  { REDIS_URL, REDIS_CLUSTER: cluster, LIVENESS_WINDOW_MS: windowMs }: ReceiverConfig,
): Liveness {
  const answers = async (): Promise<boolean> =>
    subscriber.status === 'ready' && (await answersAll(redis));
  const answersAnew = async (): Promise<boolean> => {
    const fresh = connectRedis(REDIS_URL, { role: 'producer', cluster });
    try {
      await awaitRedis(fresh, { timeoutMs: ANSWER_TIMEOUT_MS });
      return await answersAll(fresh);
    } catch {
      return false;
    } finally {
      fresh.disconnect();
    }
  };

  let excusedAt = performance.now();
  let cutOff = false;
  let looking = false;
  const look = async (): Promise<void> => {
    if (looking) return;
    looking = true;
    cutOff = !(await answers()) && (await answersAnew());
    if (!cutOff) excusedAt = performance.now();
    looking = false;
  };
  const timer = setInterval(() => void look(), windowMs / 4);
  return {
    cutOffMs: () => {
      const forMs = Math.round(performance.now() - excusedAt);
      return cutOff && forMs > windowMs ? forMs : null;
    },
    close: () => clearInterval(timer),
  };
}

/** Every master: in a Cluster one that is silent is as bad as all. */
async function answersAll(redis: RedisConnection): Promise<boolean> {
  const pings = Promise.all(mastersOf(redis).map((node) => node.ping()));
  return ((await answerWithin(pings, ANSWER_TIMEOUT_MS))?.length ?? 0) > 0;
}
