import { createMetrics, fullest, inspectRedis, type RedisConnection } from '@leadgate/boot';
import { queueGauges } from '@leadgate/queue';
import { directoryRevision, type Store } from '@leadgate/store';

/** The metrics of the console and of the servers that it looks at. */
export function consoleMetrics(redis: RedisConnection, store: Store) {
  const metrics = createMetrics('console');
  const { leads, oldest } = queueGauges(redis);
  metrics.gauges(leads);
  metrics.gauge(oldest);
  metrics.gauge({
    name: 'leadgate_redis_up',
    help: 'Whether Redis answers.',
    read: () => isUp(() => redis.ping()),
  });
  metrics.gauge({
    name: 'leadgate_postgres_up',
    help: 'Whether Postgres answers.',
    read: () => isUp(() => directoryRevision(store)),
  });
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
  return metrics;
}

async function isUp(ask: () => Promise<unknown>): Promise<number> {
  try {
    await ask();
    return 1;
  } catch {
    return 0;
  }
}
