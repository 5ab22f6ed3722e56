import { awaitRedis, connectRedis, type RedisConnection } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import { sampleSubmission, testRedis } from '@leadgate/testkit';
import { Queue } from 'bullmq';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { startApplyWorker, type ApplyWorkerOptions } from './apply-worker.ts';
import { oldestWaiting, queueCounts, shardStandings } from './counts.ts';
import { openDashboardQueues } from './dashboard-queues.ts';
import { openFailedJobs } from './jobs.ts';
import { drainLeftOvers } from './left-over-shards.ts';
import { openProducer, type Producer } from './producer.ts';
import { each, latch } from '../test/queue.ts';
import {
  pauseQueue,
  PREFIX,
  queueName,
  readRegistry,
  registerShards,
  resumeQueue,
  shardOf,
  shardsInUse,
} from './shards.ts';

const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const closes: (() => unknown)[] = [];
let url: string;
let redis: RedisConnection;

beforeEach(async () => {
  const server = await testRedis();
  url = server.url;
  await server.flush();
  redis = connectRedis(url, { role: 'admin' });
  closes.push(() => redis.disconnect());
  await awaitRedis(redis);
});
afterEach(async () => {
  for (let close = closes.pop(); close !== undefined; close = closes.pop()) await close();
});

/** Closed at the end, unless the test has closed it before. */
async function producerOf(shards: number): Promise<Producer> {
  const connection = connectRedis(url, { role: 'producer' });
  await awaitRedis(connection);
  const producer = await openProducer(connection, { logger, shards });
  closes.push(() => connection.disconnect());
  closes.push(() => producer.close());
  return producer;
}

async function workerOf(options: Partial<ApplyWorkerOptions> & Pick<ApplyWorkerOptions, 'apply'>) {
  const connection = connectRedis(url, { role: 'worker' });
  closes.push(() => connection.disconnect());
  const worker = await startApplyWorker(connection, { concurrency: 20, logger, ...options });
  const close = () => worker.close({ timeoutMs: 5_000 });
  closes.push(() => close().catch(() => undefined));
  return { ...worker, close };
}

/** Submissions of leads of their own. */
const samples = (count: number, first = 0): Submission[] =>
  Array.from({ length: count }, (_, n) => sampleSubmission(first + n, { leadId: randomUUID() }));

const enqueue = (producer: Producer, all: readonly Submission[]) =>
  Promise.all(all.map((one) => producer.enqueue(one)));

/** As if nobody had spoken for it for a while. */
const silence = (shard: number) => redis.hset('leadgate:shards', shard, Date.now() - 61_000);

const waitingBy = async () =>
  Object.fromEntries((await shardStandings(redis)).map(({ shard, waiting }) => [shard, waiting]));

describe('jobs are spread', () => {
  test('each lead has one shard, and what looks at the queue sees all of them', async () => {
    const producer = await producerOf(3);
    const all = samples(60);
    await enqueue(producer, all);
    const expected = { 0: 0, 1: 0, 2: 0 };
    for (const { leadId } of all) expected[shardOf(leadId, 3) as 0 | 1 | 2] += 1;
    expect(await waitingBy()).toEqual(expected);
    expect(await producer.counts()).toMatchObject({ waiting: 60 });
    expect(await queueCounts(redis)).toMatchObject({ waiting: 60 });
    expect(await oldestWaiting(redis)).toBeGreaterThanOrEqual(0);
    const dashboard = openDashboardQueues(redis, { logger });
    closes.push(() => dashboard.close());
    expect((await dashboard.current()).map(({ name }) => name)).toEqual(
      [0, 1, 2].map((shard) => queueName(shard)),
    );
  });

  test('with one shard an empty Redis has a queue before anybody has spoken', async () => {
    expect((await readRegistry(redis)).shards).toEqual([
      { shard: 0, heardAgoMs: null, inUse: false },
    ]);
    expect(await queueCounts(redis)).toMatchObject({ waiting: 0, paused: false });
  });

  test('a Redis that lost all it had is told of the shards again', async () => {
    const connection = connectRedis(url, { role: 'producer' });
    closes.push(() => connection.disconnect());
    await awaitRedis(connection);
    const producer = await openProducer(connection, { logger, shards: 2 });
    closes.push(() => producer.close());
    await enqueue(producer, samples(1));
    await redis.flushdb();
    connection.disconnect(true);
    await vi.waitFor(async () =>
      expect((await readRegistry(redis)).shards.map(({ shard }) => shard)).toEqual([0, 1]),
    );
  });
});

test('one that is not told how many there are puts leads where the others do', async () => {
  expect(await shardsInUse(redis)).toBe(1);
  await registerShards(redis, [0, 1, 2, 3]);
  await silence(3);
  expect(await shardsInUse(redis)).toBe(3);
});

describe('QUEUE_SHARDS changes from 1 to 3 to 2 while jobs wait', () => {
  test('workers notice, take old and new ones, and nothing is stranded', async () => {
    const applied = new Map<string, number>();
    const all = samples(90);
    const one = await producerOf(1);
    await enqueue(one, all.slice(0, 30));
    await one.close();

    const gate = { open: false };
    const held: (() => void)[] = [];
    const worker = await workerOf({
      concurrency: 5,
      apply: each(async ({ id }) => {
        if (!gate.open) await new Promise<void>((resolve) => held.push(resolve));
        applied.set(id, (applied.get(id) ?? 0) + 1);
      }),
    });
    await vi.waitFor(() => expect(worker.progress().active).toBe(30));

    const three = await producerOf(3);
    await enqueue(three, all.slice(30, 60));
    await three.close();
    await silence(2);
    const two = await producerOf(2);
    await enqueue(two, all.slice(60));
    await vi.waitFor(() => expect(worker.progress().shards).toHaveLength(3), { timeout: 10_000 });

    gate.open = true;
    held.forEach((resume) => resume());
    await vi.waitFor(() => expect(applied.size).toBe(90), { timeout: 15_000 });
    expect(new Set(applied.values())).toEqual(new Set([1]));
    expect(await queueCounts(redis)).toMatchObject({ waiting: 0, delayed: 0, failed: 0 });

    await vi.waitFor(
      async () => {
        const round = await drainLeftOvers(redis);
        expect(round).toMatchObject({ kind: 'left-overs', leftOvers: [] });
      },
      { timeout: 10_000 },
    );
    expect((await readRegistry(redis)).shards.map(({ shard }) => shard)).toEqual([0, 1]);
    expect(await redis.keys(`${PREFIX}:${queueName(2)}:[^s]*`)).toEqual([]);
    await vi.waitFor(() => expect(worker.progress().shards).toHaveLength(2), { timeout: 10_000 });
    expect(worker.progress().processed).toBe(90);
  });

  test('a worker that is given shards takes those and no other', async () => {
    const producer = await producerOf(3);
    await enqueue(producer, samples(30));
    const before = await waitingBy();
    await workerOf({ shards: [2], apply: each(() => {}) });
    await vi.waitFor(async () => expect(await waitingBy()).toEqual({ ...before, 2: 0 }));
  });

  test('the shards that have work share what a worker may hold, and empty ones leave it to them', async () => {
    const producer = await producerOf(4);
    const [lone] = samples(1);
    const mine = Array.from({ length: 30 }, (_, n) =>
      sampleSubmission(100 + n, { leadId: lone?.leadId ?? '' }),
    );
    const held = latch();
    const worker = await workerOf({ concurrency: 8, apply: each(() => held.promise) });
    // All are found empty first.
    await vi.waitFor(() => expect(worker.progress().shards).toHaveLength(4));
    // Each in a job of its own.
    for (const one of mine) await producer.enqueue(one);
    await vi.waitFor(() => expect(worker.progress().active).toBe(8), { timeout: 10_000 });
    held.open();
  });
});

describe('a left-over shard', () => {
  const fail = async (producer: Producer, submission: Submission) => {
    await producer.enqueue(submission);
    const shard = shardOf(submission.leadId, 3);
    const queue = new Queue(queueName(shard), {
      connection: redis,
      prefix: PREFIX,
      skipVersionCheck: true,
    });
    const worker = await workerOf({
      apply: each(() => ({ kind: 'failed', reason: 'no such lead' })),
    });
    await vi.waitFor(
      async () => {
        for (const job of await queue.getDelayed()) await job.promote();
        expect((await queueCounts(redis)).failed).toBe(1);
      },
      { timeout: 10_000, interval: 20 },
    );
    await queue.close();
    await worker.close();
    return shard;
  };
  const sampleOf = (shard: number): Submission => {
    for (;;) {
      const [one] = samples(1);
      // Goes to the second of two, so that it is not where anything unreadable would go.
      if (one && shardOf(one.leadId, 3) === shard && shardOf(one.leadId, 2) === 1) return one;
    }
  };

  test('stays while it has jobs, and while nobody says which shards are written to', async () => {
    const producer = await producerOf(3);
    await enqueue(producer, [sampleOf(2)]);
    await producer.close();
    for (const shard of [0, 1, 2]) await silence(shard);
    expect(await drainLeftOvers(redis)).toEqual({ kind: 'nobody-writes' });
    await registerShards(redis, [0, 1]);
    expect(await drainLeftOvers(redis)).toMatchObject({
      leftOvers: [{ shard: 2, waiting: 1, gone: false }],
    });
    expect((await readRegistry(redis)).shards).toHaveLength(3);
  });

  test('its failed jobs move to the shard of their lead with reason, attempts and time, and can be retried there', async () => {
    const producer = await producerOf(3);
    const submission = sampleOf(2);
    await fail(producer, submission);
    const failed = openFailedJobs(redis);
    closes.push(() => failed.close());
    const before = await failed.show(submission.id);
    expect(before).toMatchObject({ reason: 'no such lead', attempts: 5, submission });
    await producer.close();
    await silence(2);

    expect(await drainLeftOvers(redis)).toMatchObject({
      leftOvers: [{ shard: 2, moved: 1, gone: true }],
    });
    expect(await failed.show(submission.id)).toEqual(before);
    expect(await shardStandings(redis)).toMatchObject([
      { shard: 0, failed: 0 },
      { shard: 1, failed: 1 },
    ]);
    expect(await failed.retry(submission.id)).toBe(true);
    const applied = vi.fn();
    await workerOf({ apply: each(applied) });
    await vi.waitFor(() => expect(applied).toHaveBeenCalledTimes(1));
  });

  test('killed between putting a failed job there and taking it from here, the next run ends with one', async () => {
    const producer = await producerOf(3);
    const submission = sampleOf(2);
    await fail(producer, submission);
    await producer.close();
    await silence(2);
    const [here, there] = [2, 1].map((shard) => `${PREFIX}:${queueName(shard)}:`);
    await redis.copy(`${here}${submission.id}`, `${there}${submission.id}`);
    await redis.copy(`${here}failed`, `${there}failed`);
    const failed = openFailedJobs(redis);
    closes.push(() => failed.close());
    const listed = async () => {
      const ids: string[] = [];
      for await (const page of failed.pages('oldest-first'))
        ids.push(...page.map(({ jobId }) => jobId));
      return ids;
    };
    expect(await listed()).toEqual([submission.id, submission.id]);
    await drainLeftOvers(redis);
    expect(await listed()).toEqual([submission.id]);
  });

  test('that is written to again is not taken off', async () => {
    const producer = await producerOf(3);
    await enqueue(producer, samples(1));
    expect(await drainLeftOvers(redis)).toMatchObject({ leftOvers: [] });
    expect((await readRegistry(redis)).shards).toHaveLength(3);
  });
});

describe('a paused queue', () => {
  test('stays paused in the shards that come later, and goes on in all of them', async () => {
    await pauseQueue(redis);
    const applied = vi.fn();
    const worker = await workerOf({ apply: each(applied) });
    const producer = await producerOf(3);
    await enqueue(producer, samples(30));
    await vi.waitFor(() => expect(worker.progress().shards).toHaveLength(3), { timeout: 10_000 });
    for (const one of await shardStandings(redis))
      expect(one).toMatchObject({ paused: true, active: 0 });
    expect(applied).not.toHaveBeenCalled();
    await resumeQueue(redis);
    await vi.waitFor(() => expect(applied).toHaveBeenCalledTimes(30), { timeout: 10_000 });
  });
});

test('failed jobs of all shards are one list, page after page, in the order of their time', async () => {
  await producerOf(3);
  const all = samples(40);
  // As if they had failed, one after the other.
  for (const [n, { id, leadId }] of all.entries()) {
    const prefix = `${PREFIX}:${queueName(shardOf(leadId, 3))}:`;
    await redis.hset(`${prefix}${id}`, { name: 'apply 1', data: '{}', opts: '{}', timestamp: 1 });
    await redis.zadd(`${prefix}failed`, 1_000 + Math.floor(n / 3), id);
  }
  const failed = openFailedJobs(redis);
  closes.push(() => failed.close());
  const walk = async (order: 'oldest-first' | 'newest-first', before?: string) => {
    const ids: string[] = [];
    for await (const page of failed.pages(order, before === undefined ? {} : { before }))
      ids.push(...page.map(({ jobId }) => jobId));
    return ids;
  };
  const time = new Map(all.map(({ id }, n) => [id, Math.floor(n / 3)]));
  const expected = all
    .map(({ id }) => id)
    .sort((a, b) => (time.get(a) ?? 0) - (time.get(b) ?? 0) || (a < b ? -1 : 1));
  expect(await walk('oldest-first')).toEqual(expected);
  const newest = expected.toReversed();
  expect(await walk('newest-first')).toEqual(newest);
  expect(await walk('newest-first', newest[9])).toEqual(newest.slice(10));
  expect((await failed.reasons()).reasons).toMatchObject([{ jobs: 40 }]);
});
