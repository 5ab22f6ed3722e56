export { ConfigError, readConfig } from './config.ts';
export { errorFacts, type ErrorFacts, redactUrl } from './error-facts.ts';
export { failStart, StartError } from './start-error.ts';
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
export { redisTime, startRedisClock, type RedisClock } from './redis-clock.ts';
export { isCluster, mastersOf, type RedisConnection } from './redis-connection.ts';
export {
  durabilityFindings,
  fullest,
  inspectRedis,
  type RedisDurability,
} from './redis-durability.ts';
export { redisScript, type RedisScript } from './redis-script.ts';
export { awaitRedis, connectRedis, type ConnectRedisOptions, type RedisRole } from './redis.ts';
export { Keyring, sealedIn, secretsKeyBeforeSetting, secretsKeySetting } from './secrets.ts';
export {
  databaseUrlSetting,
  logLevelSetting,
  portSetting,
  redisClusterSetting,
  redisUrlSetting,
  urlSetting,
} from './settings.ts';
export { createShutdown, type Shutdown } from './shutdown.ts';
export { otlpEndpointSetting, startTracing, traced, traceparent } from './tracing.ts';
export { answerWithin, withinTime } from './within-time.ts';
