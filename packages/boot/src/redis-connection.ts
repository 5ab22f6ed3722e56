import type { Cluster, Redis } from 'ioredis';

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
