import type { RedisConnection } from '@leadgate/boot';
import { oldestWaiting } from './oldest-waiting.ts';
import { queueCounts } from './queue-counts.ts';

const STATES = ['waiting', 'active', 'delayed', 'failed', 'paused'] as const;

/**
 * What monitoring reads of the queue, in the terms of a metrics registry. `paused` is 1 while an
 * operator has paused it.
 */
export function queueGauges(redis: RedisConnection) {
  return {
    jobs: {
      name: 'leadgate_queue_jobs',
      help: 'Jobs in the queue by state; paused is 1 while the queue is.',
      label: 'state',
      values: STATES,
      read: async (): Promise<Record<(typeof STATES)[number], number>> => {
        const { paused, ...counts } = await queueCounts(redis);
        return { ...counts, paused: paused ? 1 : 0 };
      },
    },
    oldest: {
      name: 'leadgate_queue_oldest_waiting_seconds',
      help: 'How long the oldest waiting submission has waited; 0 where none waits.',
      read: async (): Promise<number> => ((await oldestWaiting(redis)) ?? 0) / 1_000,
    },
  };
}
