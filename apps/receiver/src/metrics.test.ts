import { expect, test } from 'vitest';
import { createReceiverMetrics } from './metrics.ts';

const open = () =>
  createReceiverMetrics({
    redisIsReady: () => false,
    directoryIsComplete: () => true,
    spoolStatus: () => ({ waiting: 3, bytes: 2_048, damaged: 0 }),
  });

test('posts are counted by their answer, and accepted ones timed', async () => {
  const { registry, answered } = open();
  answered('accepted', 12);
  answered('invalid-lead', 1);
  const text = await registry.text();
  expect(text).toContain('leadgate_posts_total{answer="accepted",service="receiver"} 1');
  expect(text).toContain('leadgate_posts_total{answer="invalid-lead",service="receiver"} 1');
  expect(text).toContain('leadgate_post_duration_seconds_count{service="receiver"} 1');
  expect(text).toContain('leadgate_post_duration_seconds_sum{service="receiver"} 0.012');
});

test('what went to the spool is told apart from what went wrong', async () => {
  const { registry, failed } = open();
  failed('spooled');
  failed('not-enqueued');
  const text = await registry.text();
  expect(text).toContain('leadgate_spooled_total{service="receiver"} 1');
  expect(text).toContain('leadgate_failures_total{failure="not-enqueued",service="receiver"} 1');
  expect(text).toContain('leadgate_spool_waiting{service="receiver"} 3');
  expect(text).toContain('leadgate_redis_up{service="receiver"} 0');
});
