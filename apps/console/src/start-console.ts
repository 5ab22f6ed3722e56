import { awaitRedis, connectRedis, Keyring, type Logger, type Shutdown } from '@leadgate/boot';
import { createReserver } from '@leadgate/intake';
import { Runner } from '@leadgate/operations';
import { openDashboardQueues, openFailedJobs, openProducer } from '@leadgate/queue';
import { erasureKeyOf, issueFirstCode, openStore, type Store } from '@leadgate/store';
import type { AddressInfo } from 'node:net';
import { consoleApp } from './app.ts';
import type { ConsoleConfig } from './config.ts';
import { consoleMetrics } from './routes/health.ts';
import { createServer } from './server.ts';
import { connectionsOf } from './services.ts';

/**
 * Starts the console and listens; `onClose` takes what undoes it, in the order it was opened. If
 * nobody can sign in yet, writes a one-time code to the log. Rejects with a StartError when Redis
 * cannot be reached, and when the port cannot be had.
 */
export async function startConsole(
  config: ConsoleConfig,
  { logger, onClose }: { logger: Logger; onClose: Shutdown['add'] },
): Promise<{ url: string }> {
  const redis = connectRedis(config.REDIS_URL, {
    role: 'admin',
    cluster: config.REDIS_CLUSTER,
    logger,
    connectionName: 'leadgate-console',
  });
  onClose('redis', () => redis.disconnect());
  await awaitRedis(redis);
  const store = openStore({
    url: config.DATABASE_URL,
    poolSize: config.DATABASE_POOL_SIZE,
    logger,
    ...(config.ERASURE_KEY !== undefined && { erasureKey: erasureKeyOf(config.ERASURE_KEY) }),
  });
  onClose('postgres', store.close);
  const queues = openDashboardQueues(redis, { logger });
  onClose('queues', () => queues.close());

  const producer = await openProducer(redis, { logger, shards: config.QUEUE_SHARDS });
  onClose('producer', () => producer.close());
  const failed = openFailedJobs(redis);
  onClose('failed jobs', () => failed.close());

  const runner = new Runner((sentence, err) => logger.error({ err }, sentence));
  onClose('runs', () => runner.close());
  const reserver = createReserver(redis);
  const receiverUrl = config.RECEIVER_URL?.replace(/(?<!\/)\/+$/, '') ?? null;
  const secret = config.CONSOLE_SECRET;
  const keyring = new Keyring(config.SECRETS_KEY, {
    before: config.SECRETS_KEY_BEFORE,
    consoleSecret: secret,
  });
  const connections = connectionsOf({
    ...{ store, redis, reserver, producer, failed, receiverUrl, keyring, runner },
    erasureLedger: config.ERASURE_LEDGER ?? null,
    consentKey: config.CONSENT_KEY ?? null,
    deliveries: { allowNetworks: config.DELIVERY_ALLOW_NETWORKS },
  });

  const app = createServer({ trustProxy: config.CONSOLE_TRUST_PROXY }, logger);
  await app.register(consoleApp, {
    ...{ store, redis, connections, failed, queues, secret, keyring },
    metrics: consoleMetrics(redis, store),
  });
  onClose('server', () => app.close());
  await app.listen({ host: config.CONSOLE_HOST, port: config.CONSOLE_PORT });

  const { address, port, family } = app.server.address() as AddressInfo;
  const url = `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  logger.info({ url }, 'console listens');
  await tellFirstCode(store, url, logger);
  return { url };
}

/** At level warn, which `npm start` shows: whoever started it is who may begin. */
async function tellFirstCode(store: Store, url: string, logger: Logger): Promise<void> {
  const first = await issueFirstCode(store);
  if (first.kind === 'not-needed') return;
  logger.warn(
    `nobody can sign in yet: open ${url}/sign-in and type the one-time code ${first.code} (good for 15 minutes)`,
  );
}
