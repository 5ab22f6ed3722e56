import { Type, type Static } from 'typebox';
import {
  databaseUrlSetting,
  logLevelSetting,
  otlpEndpointSetting,
  portSetting,
  redisClusterSetting,
  redisUrlSetting,
} from '@leadgate/boot';
import { erasureKeySetting, erasureLedgerSetting } from '@leadgate/operations';
import { workerShardsSetting } from '@leadgate/queue';

/** Every setting of the worker: its environment variable, meaning, default and limits. */
export const WorkerConfig = Type.Object({
  DATABASE_URL: databaseUrlSetting(),
  REDIS_URL: redisUrlSetting(),
  REDIS_CLUSTER: redisClusterSetting(),
  WORKER_SHARDS: workerShardsSetting(),
  WORKER_CONCURRENCY: Type.Integer({
    description: 'how many leads the worker holds at once, or those of one job',
    default: 600,
    minimum: 1,
    maximum: 10_000,
  }),
  WORKER_GROUP_SIZE: Type.Integer({
    description: 'how many submissions are applied in one transaction at most',
    default: 200,
    minimum: 1,
    maximum: 1_000,
  }),
  WORKER_GROUPS: Type.Integer({
    description: 'how many transactions run at once',
    default: 3,
    minimum: 1,
    maximum: 64,
  }),
  DATABASE_POOL_SIZE: Type.Integer({
    description: 'connections to Postgres at most: WORKER_GROUPS and two more for upkeep',
    default: 5,
    minimum: 2,
    maximum: 200,
  }),
  JOB_LOCK_MS: Type.Integer({
    description:
      'the milliseconds after which jobs of a worker that went away are taken by another',
    default: 20_000,
    minimum: 500,
  }),
  LIVENESS_WINDOW_MS: Type.Integer({
    description: 'the milliseconds without progress, while jobs wait, after which /live says 503',
    default: 45_000,
    minimum: 100,
  }),
  WORKER_HOST: Type.String({
    description:
      'the network address /live, /ready and /metrics listen on; there is no sign-in, so one that only a monitor reaches',
    default: '127.0.0.1',
  }),
  WORKER_PORT: portSetting('the port of /live, /ready and /metrics', 3002),
  RETENTION_DAYS: Type.Optional(
    Type.Integer({
      description:
        'how many days submissions are kept at least, from when Postgres accepted them, and a month longer at most; leads stay. Not set: for good',
      minimum: 1,
      maximum: 36_500,
    }),
  ),
  REJECTED_DAYS: Type.Integer({
    description: 'how many days refused bodies are kept',
    default: 30,
    minimum: 1,
    maximum: 3_650,
  }),
  REJECTED_PER_LINK: Type.Integer({
    description: 'how many refused bodies a link keeps, the newest',
    default: 5_000,
    minimum: 1,
    maximum: 1_000_000,
  }),
  READS_DAYS: Type.Integer({
    description:
      'how many days it is on record who read what about people, and a month longer at most',
    default: 730,
    minimum: 180,
    maximum: 36_500,
  }),
  ERASURE_KEY: erasureKeySetting(),
  ERASURE_LEDGER: erasureLedgerSetting(),
  SHUTDOWN_TIMEOUT_MS: Type.Integer({
    description: 'the milliseconds that running jobs have to finish when the worker is stopped',
    default: 8_000,
    minimum: 100,
  }),
  LOG_LEVEL: logLevelSetting(),
  OTEL_EXPORTER_OTLP_ENDPOINT: otlpEndpointSetting(),
});
export type WorkerConfig = Static<typeof WorkerConfig>;
