import { sampleSubmission } from '@leadgate/testkit';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { createWorkerMetrics } from './metrics.ts';

// Not connected: the queue is not asked.
const open = () => {
  const redis = new Redis({ lazyConnect: true, enableOfflineQueue: false, retryStrategy: null });
  redis.on('error', () => {});
  const sources = {
    redis,
    redisIsReady: () => true,
    postgresIsAway: () => false,
    jobsLeft: () => 0,
  };
  return createWorkerMetrics(sources);
};
const item = (n: number) => ({
  submission: sampleSubmission(n, { notes: [{ field: '/email', code: 'cut' }] }),
  replay: false,
});

test('what a group came to is counted by outcome, and the notes that applying made with those that came', async () => {
  const { registry, observe } = open();
  const apply = observe((items) =>
    Promise.resolve({
      applied: items.map(({ submission: { id, leadId } }, n) => ({
        submissionId: id,
        leadId,
        ...(n === 0
          ? {
              outcome: 'created' as const,
              notes: ['cut' as const, 'unknown-custom-field' as const],
            }
          : { outcome: 'already-applied' as const, notes: [] }),
      })),
      moved: [],
    }),
  );
  await apply([item(1), item(2)]);
  const text = await registry.text();
  expect(text).toContain('leadgate_applied_total{outcome="created",service="worker"} 1');
  expect(text).toContain('leadgate_applied_total{outcome="already-applied",service="worker"} 1');
  expect(text).toContain('leadgate_notes_total{code="cut",service="worker"} 1');
  expect(text).toContain('leadgate_notes_total{code="unknown-custom-field",service="worker"} 1');
  expect(text).toContain('leadgate_group_size_sum{service="worker"} 2');
  expect(text).toContain('leadgate_apply_duration_seconds_count{service="worker"} 1');
});

test('a group that fails is counted and fails all the same', async () => {
  const { registry, observe } = open();
  const apply = observe(() => Promise.reject(new Error('away')));
  await expect(apply([item(1)])).rejects.toThrow('away');
  expect(await registry.text()).toContain('leadgate_groups_failed_total{service="worker"} 1');
});

test('while Redis is away the rest can still be read', async () => {
  const text = await open().registry.text();
  expect(text).toContain('leadgate_queue_oldest_waiting_seconds{service="worker"} Nan');
  expect(text).toContain('leadgate_postgres_up{service="worker"} 1');
});
