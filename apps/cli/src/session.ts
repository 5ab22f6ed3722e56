import type { Keyring, RedisConnection } from '@leadgate/boot';
import {
  type DeliverySettings,
  Runner,
  type Servers as OperationServers,
} from '@leadgate/operations';
import type { FailedJobs, Producer } from '@leadgate/queue';
import { erasureKeyOf, openStore, type Store } from '@leadgate/store';
import { EXIT, Failure, type Io } from './io.ts';
import type { RedisSettings } from './redis.ts';
import { findServers, type Servers } from './servers.ts';

/** The connections of one command, each opened, and its code loaded, when it is first needed. */
export interface Session {
  servers: () => Servers;
  /** Throws a Failure if nothing says where Postgres is. */
  databaseUrl: () => string;
  /** As `databaseUrl`. Connects with its first statement. */
  store: () => Store;
  /** The file where erasures are written down, if there is one. */
  erasureLedger: () => string | null;
  /** What links that withdraw a consent are signed with. */
  consentKey: () => string | null;
  /** Rejects with a Failure or a StartError when Redis is not known or does not answer. */
  redis: () => Promise<RedisConnection>;
  /** How Redis is to be used, besides where it is. */
  redisSettings: () => Promise<RedisSettings>;
  /** Postgres, and what submissions are reserved and enqueued with. Rejects as `redis` does. */
  operations: () => Promise<OperationServers & { producer: Producer }>;
  failed: () => Promise<FailedJobs>;
  /** What secrets are encrypted under, if it is known. Rejects with a ConfigError when the environment says it wrongly. */
  keyring: () => Promise<Keyring | null>;
  /** Rejects as `keyring` does. */
  deliveries: () => Promise<DeliverySettings>;
  /** Does what takes long. */
  runner: Runner;
  close: () => Promise<void>;
}

/** As for workers and console. */
const SHORTEST_KEY = 32;
/** Somebody waits for it, and nothing waits behind it. */
const STATEMENT_TIMEOUT_MS = 15_000;

export function openSession(io: Io): Session {
  let servers: Servers | undefined;
  let store: Store | undefined;
  let redis: Promise<RedisConnection> | undefined;
  let producer: Promise<Producer> | undefined;
  let failed: Promise<FailedJobs> | undefined;
  const runner = new Runner();
  const find = () => (servers ??= findServers(io));
  const redisSettings = async () => (await loadRedis()).readRedisSettings(io);
  const databaseUrl = () => urlOf(find().databaseUrl, POSTGRES);
  const getStore = () =>
    (store ??= openStore({
      url: databaseUrl(),
      poolSize: 4,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      ...erasureKey(),
    }));
  const getRedis = () =>
    (redis ??= loadRedis().then(({ connect, readRedisSettings }) =>
      connect(urlOf(find().redisUrl, REDIS), readRedisSettings(io)),
    ));

  const keyOf = (variable: 'ERASURE_KEY' | 'CONSENT_KEY'): string | undefined => {
    const secret = io.env[variable]?.trim() ?? '';
    if (secret === '') return undefined;
    if (secret.length >= SHORTEST_KEY) return secret;
    throw new Failure(`${variable} must have ${SHORTEST_KEY} characters or more.`, EXIT.usage);
  };
  const erasureKey = () => {
    const secret = keyOf('ERASURE_KEY') ?? find().secrets.erasureKey;
    return secret === undefined ? {} : { erasureKey: erasureKeyOf(secret) };
  };

  const outward = async () => (await import('./delivery-settings.ts')).readOutward(io, find());

  return {
    servers: find,
    databaseUrl,
    store: getStore,
    erasureLedger: () => io.env['ERASURE_LEDGER']?.trim() || (find().secrets.erasureLedger ?? null),
    consentKey: () => keyOf('CONSENT_KEY') ?? find().secrets.consentKey ?? null,
    redis: getRedis,
    redisSettings,
    operations: async () => {
      const client = await getRedis();
      const { createReserver, openCliProducer, readRedisSettings } = await loadRedis();
      producer ??= openCliProducer(client, readRedisSettings(io));
      return {
        store: getStore(),
        reserver: createReserver(client),
        producer: await producer,
      };
    },
    failed: async () => {
      const client = await getRedis();
      return (failed ??= loadRedis().then(({ openFailedJobs }) => openFailedJobs(client)));
    },
    keyring: async () => (await outward()).keyring,
    deliveries: async () => (await outward()).deliveries,
    runner,
    close: async () => {
      await runner.close();
      await (await failed)?.close();
      await (await producer?.catch(() => undefined))?.close();
      await store?.close();
      const client = await redis?.catch(() => undefined);
      client?.disconnect();
    },
  };
}

const loadRedis = () => import('./redis.ts');

const POSTGRES = 'Postgres is: set DATABASE_URL';
const REDIS = 'Redis is: set REDIS_URL';

function urlOf(url: string | null, what: string): string {
  if (url !== null) return url;
  throw new Failure(`Nothing says where ${what}, or run npm start, which starts one.`, EXIT.usage);
}
