import { Redis, type RedisOptions } from 'ioredis';
import type { RedisNode } from './redis-address.ts';

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
