import { awaitRedis, connectRedis, type RedisConnection } from '@leadgate/boot';
import { createReserver } from '@leadgate/intake';
import {
  openFailedJobs,
  openProducer,
  shardsInUse,
  type FailedJobs,
  type Producer,
} from '@leadgate/queue';
import type { Servers as OperationServers } from '@leadgate/operations';
import { openStore, type Store } from '@leadgate/store';
import { EXIT, Failure } from './failure.ts';
import type { Io } from './io.ts';
import { readRedisSettings, type RedisSettings } from './redis-settings.ts';
import { findServers, type Servers } from './servers.ts';

/** The connections of one command, each opened when it is first needed. */
export interface Session {
  servers: () => Servers;
  /** Throws a Failure where nothing says where Postgres is. */
  databaseUrl: () => string;
  /** As `databaseUrl`. Connects with its first statement. */
  store: () => Store;
  /** Rejects with a Failure or a StartError when Redis is not known or does not answer. */
  redis: () => Promise<RedisConnection>;
  /** How Redis is to be used, besides where it is. */
  redisSettings: () => RedisSettings;
  /** Postgres, and what submissions are reserved and enqueued with. Rejects as `redis` does. */
  operations: () => Promise<OperationServers & { producer: Producer }>;
  failed: () => Promise<FailedJobs>;
  close: () => Promise<void>;
}

const REDIS_TIMEOUT_MS = 3_000;
/** Somebody waits for it, and nothing waits behind it. */
const STATEMENT_TIMEOUT_MS = 15_000;

export function openSession(io: Io): Session {
  let servers: Servers | undefined;
  let store: Store | undefined;
  let redis: Promise<RedisConnection> | undefined;
  let producer: Promise<Producer> | undefined;
  let failed: FailedJobs | undefined;
  const find = () => (servers ??= findServers(io));
  const redisSettings = () => readRedisSettings(io);
  const databaseUrl = () => urlOf(find().databaseUrl, POSTGRES);
  const getStore = () =>
    (store ??= openStore({
      url: databaseUrl(),
      poolSize: 4,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    }));
  const getRedis = () => (redis ??= connect(urlOf(find().redisUrl, REDIS), redisSettings()));

  return {
    servers: find,
    databaseUrl,
    store: getStore,
    redis: getRedis,
    redisSettings,
    operations: async () => {
      const client = await getRedis();
      producer ??= openCliProducer(client, redisSettings());
      return {
        store: getStore(),
        reserver: createReserver(client),
        producer: await producer,
      };
    },
    failed: async () => {
      const client = await getRedis();
      return (failed ??= openFailedJobs(client));
    },
    close: async () => {
      await failed?.close();
      await (await producer?.catch(() => undefined))?.close();
      await store?.close();
      const client = await redis?.catch(() => undefined);
      client?.disconnect();
    },
  };
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

const SILENT = { debug: () => {}, warn: () => {}, error: () => {} };

const POSTGRES = 'Postgres is: set DATABASE_URL';
const REDIS = 'Redis is: set REDIS_URL';

function urlOf(url: string | null, what: string): string {
  if (url !== null) return url;
  throw new Failure(`Nothing says where ${what}, or run npm start, which starts one.`, EXIT.usage);
}

async function connect(
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
