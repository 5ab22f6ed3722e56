import { createMetrics, inspectRedis } from '@leadgate/boot';
import { queueGauges } from '@leadgate/queue';
import { directoryRevision, type Store } from '@leadgate/store';
import type { Redis } from 'ioredis';

/** The metrics of the console and of the servers that it looks at. */
export function consoleMetrics(redis: Redis, store: Store) {
  const metrics = createMetrics('console');
  const { jobs, oldest } = queueGauges(redis);
  metrics.gauges(jobs);
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
    const { usedMemory, maxmemory } = await inspectRedis(redis);
    return { used: usedMemory, limit: maxmemory };
  };
  metrics.gauges({
    name: 'leadgate_redis_memory_bytes',
    help: 'Memory of Redis: used, and the limit (0: none).',
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
