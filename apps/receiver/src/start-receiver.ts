import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  awaitRedis,
  connectRedis,
  durabilityFindings,
  inspectRedis,
  isCluster,
  type Logger,
  type RedisConnection,
  type RedisDurability,
  serveMetrics,
  type Shutdown,
  StartError,
  startRedisClock,
} from '@leadgate/boot';
import {
  countLinks,
  createBreaker,
  createLimits,
  createReserver,
  openLinkDirectory,
  pushRejected,
} from '@leadgate/intake';
import { openProducer } from '@leadgate/queue';
import type { IntakeFailure } from './accept-lead.ts';
import { receiverApp } from './app.ts';
import { watchBackpressure } from './backpressure.ts';
import { createGuard } from '@leadgate/delivery';
import { createVerifyCaptcha } from './spam.ts';
import type { ReceiverConfig } from './config.ts';
import { type Demo, readDemo, readSnippet } from './assets.ts';
import { createHealth, watchLiveness } from './health.ts';
import { createTally, createFailureLog, type Tally } from './log.ts';
import { createReceiverMetrics } from './metrics.ts';
import { createServer } from './server.ts';
import { secretOpener } from './secrets.ts';
import { openSpoolDir } from './spool.ts';

/** How long a start waits for Redis. Without it the receiver starts all the same, not ready. */
const AWAIT_REDIS_MS = 2_000;

const COUNTS_EVERY_MS = 60_000;

/**
 * Starts a receiver and listens; `onClose` takes what undoes it, in the order it was opened. Rejects
 * with a StartError when Redis may throw leads away, and when the port or SPOOL_DIR cannot be had. A
 * Redis that cannot be reached is no reason not to start: until it can, leads of links that are known
 * on disk go to the spool, and others are answered 503.
 */
export async function startReceiver(
  config: ReceiverConfig,
  { logger, onClose }: { logger: Logger; onClose: Shutdown['add'] },
): Promise<{ url: string }> {
  const snippet = readSnippet();
  const connect = (role: 'producer' | 'subscriber') => {
    const redis = connectRedis(config.REDIS_URL, {
      role,
      cluster: config.REDIS_CLUSTER,
      logger,
      connectionName: `leadgate-receiver-${role}`,
    });
    onClose(`Redis (${role})`, () => redis.disconnect());
    return redis;
  };
  const redis = connect('producer');
  const subscriber = connect('subscriber');

  // Not this machine's: a link expires and a spooled post is stamped at one time in every receiver.
  const clock = startRedisClock(redis);
  onClose('clock', clock.close);
  const limits = createLimits();
  const spoolDir = await openSpoolDir(config, { logger, onClose });
  const opening = openLinkDirectory(redis, subscriber, {
    logger,
    ...(spoolDir && {
      remembered: spoolDir.links.remembered,
      onChange: (entries) => spoolDir.links.save(entries),
    }),
  });
  onClose('link directory', async () => (await opening).close());
  // Each waits for a Redis that is away: they do it together.
  const [directory] = await Promise.all([opening, checkRedis(redis, logger)]);
  const producer = await openProducer(redis, {
    logger,
    waitReplicas: config.REDIS_WAIT_REPLICAS,
    shards: config.QUEUE_SHARDS,
  });
  onClose('queue', () => producer.close());
  const reserver = createReserver(redis, {
    limits,
    // One Redis is asked once, for the job: replicas that have it have what came before it.
    waitReplicas: isCluster(redis) ? config.REDIS_WAIT_REPLICAS : 0,
  });
  const backpressure = watchBackpressure(
    redis,
    producer,
    { maxQueueDepth: config.MAX_QUEUE_DEPTH, maxMemoryPercent: config.MAX_REDIS_MEMORY_PERCENT },
    logger,
  );
  onClose('backpressure', () => backpressure.stop());
  spoolDir?.startDrain(
    { reserver, producer },
    () => redis.status === 'ready' && backpressure.current() === null,
  );
  const liveness = watchLiveness({ redis, subscriber }, config);
  onClose('liveness', liveness.close);
  const health = createHealth({
    redis,
    liveness,
    directoryIsComplete: () => directory.complete,
    backpressure: () => backpressure.current(),
    spoolDir,
    clock: () => performance.now(),
  });

  const metrics = createReceiverMetrics({
    redisIsReady: () => redis.status === 'ready',
    directoryIsComplete: () => directory.complete,
    spoolStatus: () => spoolDir?.spool.status() ?? null,
  });
  if (config.METRICS_PORT !== undefined) {
    const { METRICS_HOST: host, METRICS_PORT: port } = config;
    onClose('metrics', (await serveMetrics(metrics.registry, { host, port })).close);
  }

  const linkCounter = countLinks(redis);
  onClose('counts of links', () => linkCounter.close());
  const logFailure = createFailureLog(logger, () => performance.now());
  const onFailure = (failure: IntakeFailure, error: unknown): void => {
    metrics.failed(failure);
    logFailure(failure, error);
  };
  const openSecret = secretOpener(config, onFailure);
  const tally = createTally();
  logCounts(logger, tally, onClose);
  const app = createServer(config, logger);
  await app.register(receiverApp, {
    config,
    directory,
    limits,
    linkCounter,
    reserver,
    producer,
    breaker: createBreaker(),
    backpressure: () => backpressure.current(),
    spool: spoolDir?.spool ?? null,
    isOnDisk: (code) => spoolDir?.links.has(code) === true,
    openSecret,
    verifyCaptcha: createVerifyCaptcha(
      config.CAPTCHA_URLS,
      createGuard({ allowNetworks: config.DELIVERY_ALLOW_NETWORKS }),
      openSecret,
    ),
    pushRejected: (rejected) => pushRejected(redis, rejected),
    health,
    snippet,
    demo: demoOf(config),
    clock: clock.now,
    onFailure,
    onAnswer: (answer, ms) => {
      tally.count(answer);
      metrics.answered(answer, ms);
    },
  });
  onClose('server', () => app.close());
  await app.listen({ host: config.RECEIVER_HOST, port: config.RECEIVER_PORT });
  onClose('readiness', async () => {
    health.stop();
    await delay(config.STOP_DELAY_MS);
  });

  const { address, port, family } = app.server.address() as AddressInfo;
  return { url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}` };
}

function demoOf({ DEMO_LINK, CONSOLE_URL }: ReceiverConfig): Demo | null {
  return DEMO_LINK === undefined
    ? null
    : readDemo({ code: DEMO_LINK, consoleUrl: CONSOLE_URL ?? null });
}

/** Refuses one that may throw leads away. One that does not answer, /ready looks at later. */
async function checkRedis(redis: RedisConnection, logger: Logger): Promise<void> {
  let nodes: RedisDurability[];
  try {
    await awaitRedis(redis, { timeoutMs: AWAIT_REDIS_MS });
    nodes = await inspectRedis(redis);
  } catch {
    logger.warn('starting without Redis');
    return;
  }
  const { fatal, warnings } = durabilityFindings(nodes);
  if (fatal.length > 0) throw new StartError(fatal.join(' '));
  for (const warning of warnings) logger.warn(warning);
}

function logCounts(logger: Logger, tally: Tally, onClose: Shutdown['add']): void {
  const log = (): void => {
    const answers = tally.take();
    if (Object.keys(answers).length > 0) logger.info({ answers }, 'answered');
  };
  const timer = setInterval(log, COUNTS_EVERY_MS);
  onClose('counts', () => {
    clearInterval(timer);
    log();
  });
}
