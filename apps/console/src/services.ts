import type { Keyring, MetricsRegistry, RedisConnection } from '@leadgate/boot';
import type { Connections, DeliverySettings } from '@leadgate/operations';
import type { Reserver } from '@leadgate/intake';
import type { DashboardQueues, FailedJobs, Producer } from '@leadgate/queue';
import type { Store } from '@leadgate/store';

/** What the API and the pages need from outside. */
export interface ApiServices {
  connections: Connections;
  store: Store;
  failed: FailedJobs;
}

/** All that the app needs from outside, opened and closed by whoever builds it. */
export interface ConsoleServices extends ApiServices {
  redis: RedisConnection;
  /** The queue as the dashboard shows it, a shard each. */
  queues: DashboardQueues;
  metrics: MetricsRegistry;
  /** Signs the session cookies. */
  secret: string;
  /** What secrets are encrypted under. */
  keyring: Keyring;
}

/** What operations work on, all of it open already. */
export function connectionsOf({
  redis,
  reserver,
  producer,
  failed,
  keyring,
  deliveries,
  ...others
}: Pick<Connections, 'store' | 'runner' | 'erasureLedger' | 'consentKey' | 'receiverUrl'> & {
  redis: RedisConnection;
  reserver: Reserver;
  producer: Pick<Producer, 'enqueue' | 'replay' | 'counts'>;
  failed: FailedJobs;
  keyring: Keyring;
  deliveries: DeliverySettings;
}): Connections {
  return {
    ...others,
    redis: () => Promise.resolve(redis),
    failed: () => Promise.resolve(failed),
    intake: () => Promise.resolve({ reserver, producer }),
    keyring: () => Promise.resolve(keyring),
    deliveries: () => Promise.resolve(deliveries),
  };
}
