export {
  ConfigError,
  databaseUrlSetting,
  failStart,
  logLevelSetting,
  portSetting,
  readConfig,
  redisClusterSetting,
  redisUrlSetting,
  StartError,
  urlSetting,
} from './config.ts';
export {
  createLogger,
  errorFacts,
  type ErrorFacts,
  type Log,
  type Logger,
  type LoggerOptions,
  redactUrl,
} from './logger.ts';
export { groupCalls } from './group-calls.ts';
export {
  createMetrics,
  type GaugeDefinition,
  type GaugesDefinition,
  type HealthAnswer,
  type HealthChecks,
  type MetricsRegistry,
  serveMetrics,
  startHealthServer,
} from './monitoring.ts';
export {
  type RedisClock,
  redisScript,
  type RedisScript,
  redisTime,
  startRedisClock,
} from './redis-script.ts';
export {
  awaitRedis,
  connectRedis,
  type ConnectRedisOptions,
  isCluster,
  mastersOf,
  type RedisConnection,
  type RedisRole,
} from './redis.ts';
export {
  durabilityFindings,
  fullest,
  inspectRedis,
  type RedisDurability,
} from './redis-durability.ts';
export { Keyring, sealedIn, secretsKeyBeforeSetting, secretsKeySetting } from './secrets.ts';
export { createShutdown, type Shutdown } from './shutdown.ts';
export { otlpEndpointSetting, startTracing, traced, traceparent } from './tracing.ts';
export { answerWithin, withinTime } from './within-time.ts';
