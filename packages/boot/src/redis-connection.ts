import { type Cluster, Redis, type RedisOptions } from 'ioredis';
import type { Logger } from './logger.ts';
import type { RedisNode } from './redis-address.ts';

/** A connection to one Redis, or to all nodes of a Cluster. They take the same commands. */
export type RedisConnection = Redis | Cluster;

/** The servers that take writes, each by itself: the one there is, or the masters of a Cluster. */
export function mastersOf(redis: RedisConnection): Redis[] {
  return isCluster(redis) ? redis.nodes('master') : [redis];
}

export function isCluster(redis: RedisConnection): redis is Cluster {
  return redis.isCluster;
}

/** Host and port of a connection. */
export function addressOf({ options: { host, port, path } }: Redis): string {
  return path ?? `${host ?? 'localhost'}:${port ?? 6379}`;
}

/**
 * A connection for listening to what is published anywhere in a Cluster. Each attempt goes to another
 * node: of those that the one before knew, and those that are given.
 */
export function listenToOneOf(
  given: readonly RedisNode[],
  options: Omit<RedisOptions, 'replyMapping'> & { retryStrategy: (times: number) => number },
): Redis {
  let nodes = [...given];
  const next = (): RedisNode => {
    const node = nodes.shift() ?? { host: 'localhost', port: 6379 };
    nodes.push(node);
    return node;
  };
  const redis = new Redis({
    ...options,
    ...next(),
    retryStrategy(times) {
      Object.assign(redis.options, next());
      return options.retryStrategy(times);
    },
  });
  redis.on('ready', () => {
    void nodesKnownBy(redis).then((known) => (nodes = withoutTwins([...known, ...given])));
  });
  return redis;
}

function withoutTwins(nodes: readonly RedisNode[]): RedisNode[] {
  return [...new Map(nodes.map((node) => [`${node.host}:${node.port}`, node])).values()];
}

/** Asked over another connection: one that listens is not to be asked. */
async function nodesKnownBy(redis: Redis): Promise<RedisNode[]> {
  const asking = redis.duplicate({ retryStrategy: null, commandTimeout: 5_000, protocol: 2 });
  asking.on('error', () => undefined);
  try {
    const slots: unknown = await asking.cluster('SLOTS');
    const ranges = Array.isArray(slots) ? (slots as unknown[]) : [];
    return ranges.flatMap((range) =>
      (Array.isArray(range) ? range.slice(2) : []).flatMap((node: unknown) =>
        Array.isArray(node) && typeof node[0] === 'string' && node[0] !== ''
          ? [{ host: node[0], port: Number(node[1]) }]
          : [],
      ),
    );
  } catch {
    return [];
  } finally {
    asking.disconnect();
  }
}

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
