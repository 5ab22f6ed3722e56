import type { MetricsRegistry, RedisConnection } from '@leadgate/boot';
import type { Connections, DeliverySettings, ImportServers } from '@leadgate/operations';
import { secondFactorKey } from '@leadgate/store';
import type { DashboardQueues, FailedJobs, Producer } from '@leadgate/queue';

/** What the API and the pages need from outside. */
export interface ApiServices extends ImportServers {
  connections: Connections;
  producer: Pick<Producer, 'enqueue' | 'replay' | 'counts'>;
  redis: RedisConnection;
  failed: FailedJobs;
  /** Where senders reach the receiver; null where nobody said. */
  receiverUrl: string | null;
}

/** All that the app needs from outside, opened and closed by whoever builds it. */
export interface ConsoleServices extends ApiServices {
  /** The queue as the dashboard shows it, a shard each. */
  queues: DashboardQueues;
  metrics: MetricsRegistry;
  /** Signs the session cookies. */
  secret: string;
}

/** What operations work on, all of it open already. */
export function connectionsOf({
  store,
  redis,
  reserver,
  producer,
  failed,
  receiverUrl,
  secret,
  erasureLedger,
  consentKey,
  deliveries,
}: Omit<ApiServices, 'connections'> & {
  secret: string;
  erasureLedger: string | null;
  consentKey: string | null;
  deliveries: DeliverySettings;
}): Connections {
  return {
    store,
    redis: () => Promise.resolve(redis),
    failed: () => Promise.resolve(failed),
    intake: () => Promise.resolve({ reserver, producer }),
    secondFactorKey: secondFactorKey(secret),
    erasureLedger,
    consentKey,
    deliveries: () => Promise.resolve(deliveries),
    receiverUrl,
  };
}
