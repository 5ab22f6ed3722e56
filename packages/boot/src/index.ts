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
export { errorFacts, type ErrorFacts, redactUrl } from './error-facts.ts';
export { groupCalls } from './group-calls.ts';
export {
  serveMetrics,
  startHealthServer,
  type HealthAnswer,
  type HealthChecks,
} from './health-server.ts';
export { createLogger, type Log, type Logger, type LoggerOptions } from './logger.ts';
export {
  createMetrics,
  type GaugeDefinition,
  type GaugesDefinition,
  type MetricsRegistry,
} from './metrics.ts';
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
