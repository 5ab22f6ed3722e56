import {
  awaitRedis,
  connectRedis,
  readConfig,
  redisClusterSetting,
  type RedisConnection,
} from '@leadgate/boot';
import { openProducer, type Producer, queueShardsSetting, shardsInUse } from '@leadgate/queue';
import { type Static, Type } from 'typebox';
import type { Io } from './io.ts';

export { createReserver } from '@leadgate/intake';
export { openFailedJobs } from '@leadgate/queue';

const Environment = Type.Object({
  REDIS_CLUSTER: redisClusterSetting(),
  QUEUE_SHARDS: Type.Optional(queueShardsSetting()),
  REDIS_WAIT_REPLICAS: Type.Integer({
    description: 'the replicas of Redis that must have a lead before it counts as put in',
    default: 0,
    minimum: 0,
  }),
});

/** What the environment says of Redis besides where it is; the same as for the services. */
export interface RedisSettings {
  cluster: boolean;
  /** Null: as many as receivers write to. */
  shards: number | null;
  waitReplicas: number;
}

/** Throws a ConfigError that names what is wrong. */
export function readRedisSettings({ env }: Pick<Io, 'env'>): RedisSettings {
  const given: Static<typeof Environment> = readConfig(Environment, env);
  return {
    cluster: given.REDIS_CLUSTER,
    shards: given.QUEUE_SHARDS ?? null,
    waitReplicas: given.REDIS_WAIT_REPLICAS,
  };
}

const REDIS_TIMEOUT_MS = 3_000;

/** Rejects with a StartError when Redis does not answer. */
export async function connect(
  url: string,
  { cluster }: Pick<RedisSettings, 'cluster'>,
): Promise<RedisConnection> {
  const redis = connectRedis(url, { role: 'admin', cluster, connectionName: 'leadgate-cli' });
  try {
    await awaitRedis(redis, { timeoutMs: REDIS_TIMEOUT_MS });
    return redis;
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

/** One that puts leads where receivers put them, unless told otherwise. */
export async function openCliProducer(
  redis: RedisConnection,
  { shards, waitReplicas }: RedisSettings,
): Promise<Producer> {
  return openProducer(redis, {
    logger: SILENT,
    waitReplicas,
    shards: shards ?? (await shardsInUse(redis)),
  });
}

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
