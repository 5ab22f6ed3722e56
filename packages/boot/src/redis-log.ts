import type { Cluster, Redis } from 'ioredis';
import type { Logger } from './logger.ts';
import { addressOf, type RedisConnection } from './redis-connection.ts';

type Log = Pick<Logger, 'info' | 'warn'>;
type Facts = { role: string; url: string };

/** Logs that Redis is lost, and that it is back: once each, however often it is tried. */
export function logStateChanges(
  redis: RedisConnection,
  facts: Facts,
  logger: Log | undefined,
): void {
  // ioredis throws an 'error' that nobody listens to, so a listener stands with or without a logger.
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

/** A node that is lost is looked for again by the next command, and its replica takes its place. */
export function logNodes(redis: Cluster, facts: Facts, logger: Log | undefined): void {
  const away = new Set<string>();
  redis.on('node error', (err: Error, node: string) => {
    if (away.has(node)) return;
    away.add(node);
    logger?.warn({ ...facts, node, err }, 'a node of Redis cannot be reached');
  });
  redis.on('+node', (node: Redis) => {
    node.on('ready', () => {
      const name = addressOf(node);
      if (away.delete(name)) logger?.info({ ...facts, node: name }, 'a node of Redis is back');
    });
  });
}
