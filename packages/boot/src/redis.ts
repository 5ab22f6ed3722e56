import { Redis, type RedisOptions } from 'ioredis';
import type { Logger } from './logger.ts';
import { redactUrl } from './redact-url.ts';
import { StartError } from './start-error.ts';

/**
 * What a connection is for:
 * - `producer`: fails fast while Redis is away and works again once it is back;
 * - `worker`: waits for Redis for as long as it takes, as blocking reads must;
 * - `subscriber`: the same, for a client that only listens;
 * - `admin`: a command at a prompt, that gives up after a few seconds.
 */
export type RedisRole = 'producer' | 'worker' | 'subscriber' | 'admin';

const ROLES = {
  // Other mixes hang while Redis is away, or fail for ever after it is back. No auto-pipelining:
  // callers group for themselves, and it would hold a command back until the last batch is through.
  producer: {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 500,
  },
  // No commandTimeout: it breaks blocking reads.
  worker: { maxRetriesPerRequest: null },
  subscriber: { maxRetriesPerRequest: null },
  admin: { maxRetriesPerRequest: 5, commandTimeout: 10_000 },
} satisfies Record<RedisRole, RedisOptions>;

const LONGEST_RETRY_MS: Record<RedisRole, number> = {
  producer: 500,
  worker: 2_000,
  subscriber: 2_000,
  admin: 500,
};

export interface ConnectRedisOptions {
  role: RedisRole;
  logger?: Pick<Logger, 'info' | 'warn'>;
  /** Shown by `CLIENT LIST`. */
  connectionName?: string;
}

/**
 * A connection to Redis with the options of its role. Returns at once and connects in the
 * background, over and over; `awaitRedis` waits for it. Losing and regaining Redis is logged once
 * each, not at every attempt. Whoever opens it calls `quit` or `disconnect`.
 */
export function connectRedis(
  url: string,
  { role, logger, connectionName }: ConnectRedisOptions,
): Redis {
  const redis = new Redis(url, {
    ...ROLES[role],
    ...(connectionName !== undefined && { connectionName }),
    connectTimeout: 5_000,
    keepAlive: 10_000,
    retryStrategy: (times) => retryDelay(times, LONGEST_RETRY_MS[role]),
    // After a failover the old primary is read-only: look up the address again.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  logStateChanges(redis, { role, url: redactUrl(url) }, logger);
  return redis;
}

/** Milliseconds before the next attempt: doubling, bounded, spread so that a fleet does not rush. */
function retryDelay(times: number, longest: number): number {
  const delay = Math.min(longest, 25 * 2 ** Math.min(times, 10));
  return Math.round(delay * (0.75 + Math.random() * 0.5));
}

// ioredis throws an 'error' that nobody listens to, so a listener stands with or without a logger.
function logStateChanges(
  redis: Redis,
  facts: { role: RedisRole; url: string },
  logger: ConnectRedisOptions['logger'],
): void {
  let away = false;
  const lost = (err: Error | null): void => {
    if (away) return;
    away = true;
    logger?.warn({ ...facts, err }, 'Redis cannot be reached; trying again');
  };
  redis.on('error', lost);
  redis.on('reconnecting', () => lost(null));
  redis.on('ready', () => {
    if (away) logger?.info(facts, 'Redis is back');
    away = false;
  });
}

/**
 * Resolves once the connection takes commands. Rejects with a StartError that says what to do when
 * that takes longer than `timeoutMs`.
 */
export async function awaitRedis(
  redis: Redis,
  { timeoutMs = 10_000 }: { timeoutMs?: number } = {},
): Promise<void> {
  if (redis.status === 'ready') return;
  let lastError: Error | undefined;
  const keep = (error: Error): void => void (lastError = error);
  redis.on('error', keep);
  let ready = (): void => {};
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      ready = resolve;
      redis.once('ready', ready);
      timer = setTimeout(() => reject(unreachable(redis, lastError)), timeoutMs);
    });
  } finally {
    clearTimeout(timer);
    redis.off('ready', ready);
    redis.off('error', keep);
  }
}

function unreachable(redis: Redis, error: Error | undefined): StartError {
  const { host, port, path } = redis.options;
  const where = path ?? `${host ?? 'localhost'}:${port ?? 6379}`;
  const code: unknown = error && Reflect.get(error, 'code');
  const why = typeof code === 'string' ? code : (error?.message ?? 'no answer');
  return new StartError(
    `Redis cannot be reached at ${where} (${redactUrl(why)}): start it, or set REDIS_URL to where it is.`,
  );
}
