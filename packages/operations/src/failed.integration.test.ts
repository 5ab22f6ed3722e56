import { connectRedis, type RedisConnection } from '@leadgate/boot';
import { type FailedJobs, openFailedJobs, openProducer, type Producer } from '@leadgate/queue';
import { openStore, type Store } from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { discardFailed, retryFailed } from './failed.ts';

const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
let redis: RedisConnection;
let producer: Producer;
let failed: FailedJobs;
let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
beforeAll(async () => {
  const { url } = await testRedis();
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 2 });
  redis = connectRedis(url, { role: 'admin' });
  producer = await openProducer(redis, { logger });
  failed = openFailedJobs(redis);
});
beforeEach(() => redis.flushdb());
afterAll(async () => {
  await failed.close();
  await producer.close();
  redis.disconnect();
  await store.close();
  await database.drop();
});

const idOf = (n: number) => sampleSubmission(n).id;
const KEY = 'leadgate:{leads-0}';

/** Puts submissions in the queue as jobs that are out of attempts. */
async function fail(count: number, reasonOf: (n: number) => string = () => 'no'): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const id = idOf(n);
    await producer.enqueue(sampleSubmission(n));
    const group = await redis.lpop(`${KEY}:wait`);
    // As if it had been given a job of its own.
    await redis.rename(`${KEY}:${group ?? ''}`, `${KEY}:${id}`);
    await redis.hset(`${KEY}:${id}`, { failedReason: reasonOf(n), atm: 5, finishedOn: 1_000 + n });
    await redis.zadd(`${KEY}:failed`, 1_000 + n, id);
  }
}

test('are grouped by reason, and those of one reason retried, each once', async () => {
  await fail(9, (n) => (n % 3 === 0 ? 'third' : 'other'));
  expect((await failed.reasons()).reasons).toMatchObject([
    { reason: 'other', jobs: 6 },
    { reason: 'third', jobs: 3 },
  ]);
  expect(await retryFailed(failed, { reason: 'third' }, { dryRun: true })).toMatchObject({
    retried: 3,
  });
  expect(await producer.counts()).toMatchObject({ failed: 9, waiting: 0 });
  expect(await retryFailed(failed, { reason: 'third' }, {})).toEqual({
    retried: 3,
    gone: 0,
    stopped: false,
  });
  expect(await producer.counts()).toMatchObject({ failed: 6, waiting: 3 });
  expect(await failed.retry(idOf(0))).toBe(false);
});

test('a retry keeps to its rate, and stops between two jobs', async () => {
  await fail(6);
  const start = performance.now();
  await retryFailed(failed, { reason: 'none' }, { perSecond: 10 });
  expect(performance.now() - start).toBeLessThan(200);
  const stop = new AbortController();
  const retrying = retryFailed(failed, {}, { perSecond: 20, signal: stop.signal });
  await vi.waitFor(async () => expect((await producer.counts()).waiting).toBeGreaterThan(1));
  stop.abort();
  const { retried, stopped } = await retrying;
  expect(stopped).toBe(true);
  expect(retried).toBeLessThan(6);
  expect(await producer.counts()).toMatchObject({ failed: 6 - retried, waiting: retried });
});

test('a discarded job leaves the queue, and what it carried is kept with the reason', async () => {
  await fail(2);
  expect(await discardFailed({ store, failed }, idOf(0), 'a test of ours')).toEqual({
    kind: 'discarded',
  });
  expect(await producer.counts()).toMatchObject({ failed: 1 });
  const kept = await store.prisma.discardedSubmission.findMany();
  expect(kept).toMatchObject([
    { jobId: idOf(0), submissionId: idOf(0), reason: 'a test of ours', failure: 'no' },
  ]);
  expect(kept[0]?.content).toMatchObject({ lead: sampleSubmission(0).lead });
  expect(await discardFailed({ store, failed }, idOf(0), 'again')).toEqual({ kind: 'unknown' });
});

test('a job that cannot be read is listed, shown and kept like any other', async () => {
  await redis.hset(`${KEY}:odd`, { data: '{"z":9}', failedReason: 'odd', name: 'x' });
  await redis.hset(`${KEY}:odd`, { opts: '{}', timestamp: 1, finishedOn: 2, atm: 1 });
  await redis.zadd(`${KEY}:failed`, 2, 'odd');
  expect(await failed.show('odd')).toMatchObject({ submission: null, reason: 'odd' });
  expect((await discardFailed({ store, failed }, 'odd', 'unreadable')).kind).toBe('discarded');
  expect(await producer.counts()).toMatchObject({ failed: 0 });
});

test('twenty thousand failed jobs are grouped and paged, many of one moment', async () => {
  const jobs = 20_000;
  for (let from = 0; from < jobs; from += 5_000) {
    const pipeline = redis.pipeline();
    for (let n = from; n < from + 5_000; n += 1) {
      pipeline.hset(`${KEY}:j${n}`, 'failedReason', `reason ${n % 3}`);
      // A thousand a moment: more than a page.
      pipeline.zadd(`${KEY}:failed`, Math.floor(n / 1_000), `j${n}`);
    }
    await pipeline.exec();
  }
  const { reasons } = await failed.reasons();
  expect(reasons.map(({ jobs: count }) => count)).toEqual([1_667, 1_667, 1_666]);
  const seen = new Set<string>();
  let largest = 0;
  for await (const page of failed.pages('newest-first')) {
    largest = Math.max(largest, page.length);
    for (const { jobId } of page) seen.add(jobId);
  }
  expect(seen.size).toBe(jobs);
  expect(largest).toBeLessThanOrEqual(1_500);
});
