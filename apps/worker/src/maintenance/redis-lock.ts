import type { RedisConnection } from '@leadgate/boot';
import { randomUUID } from 'node:crypto';

/** One that never ends was put back by a dump: its holder may be long gone. */
const HOLD = `local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] and redis.call('PTTL', KEYS[1]) > 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;
const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;

/** Of several tasks that want it in one round, one asks who has it. */
const ASK_AGAIN_MS = 500;

/**
 * What one process at a time has, for as long as it lives and a little longer. It saves work and
 * guards nothing: two can have it after a long pause of a process, or once Redis lost it.
 */
export interface Lease {
  /** Takes or keeps it, until `release`; says whether this process has it. */
  hold(): Promise<boolean>;
  /** Lets another process have it. Never rejects. */
  release(): Promise<void>;
}

/** A lease under a key, that lasts `ttlMs` after the last renewal by its holder. */
export function createLease(redis: RedisConnection, key: string, ttlMs: number): Lease {
  const token = randomUUID();
  const freshMs = ttlMs / 3;
  let known = { held: false, until: -Infinity };
  const hold = async (): Promise<boolean> => {
    const askedAt = performance.now();
    const held = (await redis.eval(HOLD, 1, key, token, ttlMs)) === 1;
    known = { held, until: askedAt + (held ? 2 * freshMs : ASK_AGAIN_MS) };
    return held;
  };
  let renewal: NodeJS.Timeout | undefined;
  return {
    async hold() {
      if (performance.now() < known.until) return known.held;
      const held = await hold();
      // What the lease is held for may take longer than it lasts.
      if (held) renewal ??= setInterval(() => void hold().catch(() => undefined), freshMs).unref();
      else {
        clearInterval(renewal);
        renewal = undefined;
      }
      return held;
    },
    async release() {
      known = { held: false, until: -Infinity };
      clearInterval(renewal);
      renewal = undefined;
      await redis.eval(RELEASE, 1, key, token).catch(() => undefined);
    },
  };
}
