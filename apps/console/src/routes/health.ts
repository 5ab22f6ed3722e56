import { createMetrics, fullest, inspectRedis, type RedisConnection } from '@leadgate/boot';
import { queueGauges } from '@leadgate/queue';
import { ALARM_KINDS, directoryRevision, openAlarms, type Store } from '@leadgate/store';
import type { FastifyPluginAsync } from 'fastify';
import type { ConsoleServices } from '../services.ts';

/**
 * GET /live: the event loop turns. GET /ready: both servers answer. Open to anybody. GET /metrics, for
 * Prometheus with an API token of a viewer.
 */
export const healthRoutes: FastifyPluginAsync<ConsoleServices> = async (app, services) => {
  const { store, redis, metrics } = services;
  const access = { config: { public: true }, schema: { hide: true } };
  app.get('/live', access, () => ({ status: 'live' }));
  app.get('/ready', access, async (_request, reply) => {
    const [postgres, redisState] = await Promise.all([
      answers(() => directoryRevision(store)),
      answers(() => redis.ping()),
    ]);
    const ready = postgres && redisState;
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'not-ready' });
  });
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
};

async function answers(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch {
    return false;
  }
}

/** The metrics of the console and of the servers that it looks at. */
export function consoleMetrics(redis: RedisConnection, store: Store) {
  const metrics = createMetrics('console');
  const { leads, oldest } = queueGauges(redis);
  metrics.gauges(leads);
  metrics.gauge(oldest);
  metrics.up('Redis', () => answers(() => redis.ping()));
  metrics.up('Postgres', () => answers(() => directoryRevision(store)));
  const memory = async () => {
    const node = fullest(await inspectRedis(redis));
    return { used: node?.usedMemory ?? 0, limit: node?.maxmemory ?? 0 };
  };
  metrics.gauges({
    name: 'leadgate_redis_memory_bytes',
    help: 'Memory of Redis, of a Cluster of its fullest node: used, and the limit (0: none).',
    label: 'kind',
    values: ['used', 'limit'],
    read: memory,
  });
  metrics.gauges({
    name: 'leadgate_alarms_open',
    help: 'Alarms that are open, by kind; leadgate alarm list says of what.',
    label: 'kind',
    values: ALARM_KINDS,
    read: () => openAlarms(store),
  });
  return metrics;
}
