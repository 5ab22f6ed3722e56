import type { MetricsRegistry, RedisConnection } from '@leadgate/boot';
import type { ImportServers } from '@leadgate/operations';
import type { DashboardQueues, FailedJobs, Producer } from '@leadgate/queue';

/** What the API and the pages need from outside. */
export interface ApiServices extends ImportServers {
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
