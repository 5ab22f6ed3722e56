import { readConfig, redisClusterSetting } from '@leadgate/boot';
import { queueShardsSetting } from '@leadgate/queue';
import { Type, type Static } from 'typebox';
import type { Io } from './io.ts';

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
