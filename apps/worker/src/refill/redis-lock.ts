import type { RedisConnection } from '@leadgate/boot';
import { randomUUID } from 'node:crypto';

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;
const RENEW = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`;

/**
 * Runs `work` while nobody else runs work under this key; returns null without running it where
 * somebody does. The lock is a courtesy that saves work and not a guard: it lasts `ttlMs` after the
 * last renewal, so two can run after a long pause of the process.
 */
export async function underLock<T>(
  redis: RedisConnection,
  key: string,
  ttlMs: number,
  work: () => Promise<T>,
): Promise<T | null> {
  const token = randomUUID();
  if ((await redis.set(key, token, 'PX', ttlMs, 'NX')) === null) return null;
  const renewal = setInterval(() => {
    redis.eval(RENEW, 1, key, token, ttlMs).catch(() => {});
  }, ttlMs / 3);
  try {
    return await work();
  } finally {
    clearInterval(renewal);
    await redis.eval(RELEASE, 1, key, token).catch(() => {});
  }
}
