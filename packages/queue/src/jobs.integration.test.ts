import { awaitRedis, connectRedis } from '@leadgate/boot';
import { sampleSubmission, testRedis } from '@leadgate/testkit';
import { Queue } from 'bullmq';
import { afterEach, expect, test, vi } from 'vitest';
import { startApplyWorker } from './apply-worker.ts';
import { openProducer } from './producer.ts';
import { each, FAILED } from '../test/queue.ts';
import { PREFIX, queueName } from './shards.ts';
import { openFailedJobs } from './jobs.ts';

const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (let close = closes.pop(); close !== undefined; close = closes.pop()) await close();
});

// Public case outpost#670.
test('the same failed job retried twice by hand: each manual retry runs with fresh attempts', async () => {
  const { url, flush } = await testRedis();
  await flush();
  const redis = connectRedis(url, { role: 'admin' });
  const blocking = connectRedis(url, { role: 'worker' });
  closes.push(() => [redis, blocking].forEach((one) => one.disconnect()));
  await awaitRedis(redis);
  const queue = new Queue(queueName(0), {
    connection: redis,
    prefix: PREFIX,
    skipVersionCheck: true,
  });
  closes.push(() => queue.close());
  const producer = await openProducer(redis, { logger });
  closes.push(() => producer.close());
  const failed = openFailedJobs(redis);
  closes.push(() => failed.close());

  let attempts = 0;
  const worker = await startApplyWorker(blocking, {
    concurrency: 1,
    logger,
    apply: each((_, { alone }) => {
      if (alone) attempts += 1;
      return FAILED;
    }),
  });
  closes.push(() => worker.close({ timeoutMs: 2_000 }));
  const { id } = sampleSubmission(1);
  const exhausted = async () => {
    // Without the waits between attempts.
    await vi.waitFor(
      async () => {
        for (const job of await queue.getDelayed()) await job.promote();
        expect(await failed.show(id)).toMatchObject({ reason: 'no', attempts: 5, replay: false });
      },
      { timeout: 10_000, interval: 20 },
    );
    const made = attempts;
    attempts = 0;
    return made;
  };

  await producer.enqueue(sampleSubmission(1));
  expect(await exhausted()).toBe(5);
  for (let retry = 0; retry < 2; retry += 1) {
    expect(await failed.retry(id)).toBe(true);
    expect(await exhausted()).toBe(5);
  }
  expect(await failed.remove(id)).toBe(true);
  expect(await failed.retry(id)).toBe(false);
});
