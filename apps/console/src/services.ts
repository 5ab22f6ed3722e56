import type { Keyring, MetricsRegistry, RedisConnection } from '@leadgate/boot';
import type { Connections, DeliverySettings, Runner } from '@leadgate/operations';
import type { Reserver } from '@leadgate/intake';
import type { DashboardQueues, FailedJobs, Producer } from '@leadgate/queue';
import type { Store } from '@leadgate/store';

/** What the API and the pages need from outside. */
export interface ApiServices {
  connections: Connections;
  store: Store;
  redis: RedisConnection;
  failed: FailedJobs;
  /** Where senders reach the receiver; null if nobody said. */
  receiverUrl: string | null;
}

/** All that the app needs from outside, opened and closed by whoever builds it. */
export interface ConsoleServices extends ApiServices {
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
  store,
  redis,
  reserver,
  producer,
  failed,
  receiverUrl,
  keyring,
  erasureLedger,
  consentKey,
  deliveries,
  runner,
}: Omit<ApiServices, 'connections'> & {
  reserver: Reserver;
  producer: Pick<Producer, 'enqueue' | 'replay' | 'counts'>;
  runner: Runner;
  keyring: Keyring;
  erasureLedger: string | null;
  consentKey: string | null;
  deliveries: DeliverySettings;
}): Connections {
  return {
    store,
    redis: () => Promise.resolve(redis),
    failed: () => Promise.resolve(failed),
    intake: () => Promise.resolve({ reserver, producer }),
    keyring: () => Promise.resolve(keyring),
    erasureLedger,
    consentKey,
    deliveries: () => Promise.resolve(deliveries),
    receiverUrl,
    runner,
  };
}
