import type { RedisConnection, Log } from '@leadgate/boot';
import { pauseShard } from './queues.ts';
import { HEARD_EVERY_MS, registerShards, SILENT_AFTER_MS } from './shards.ts';

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
