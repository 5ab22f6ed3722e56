import { awaitRedis, connectRedis, type RedisConnection } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import { sampleSubmission, startRedisServer, testRedis, type OwnServer } from '@leadgate/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startApplyWorker } from './apply-worker.ts';
import { queueCounts } from './counts.ts';
import { openProducer, type Producer } from './producer.ts';
import { each } from '../test/queue.ts';
import { openQueue } from './shards.ts';

const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };

async function open(url: string): Promise<{ redis: RedisConnection; producer: Producer }> {
  const redis = connectRedis(url, { role: 'producer' });
  await awaitRedis(redis);
  return { redis, producer: await openProducer(redis, { logger }) };
}

describe('a producer', () => {
  let given: Awaited<ReturnType<typeof testRedis>>;
  let redis: RedisConnection;
  let producer: Producer;
  let queue: ReturnType<typeof openQueue>;
  beforeAll(async () => {
    given = await testRedis();
    ({ redis, producer } = await open(given.url));
    queue = openQueue(redis, 0);
  });
  beforeEach(() => given.flush());
  afterAll(async () => {
    await queue.close();
    await producer.close();
    redis.disconnect();
  });

  test.each([
    ['', { background: false }],
    ['in the background, ', { background: true }],
  ])('%sputs what comes in the same moment in one job, at most 200 of them', async (_, how) => {
    await Promise.all(
      Array.from({ length: 450 }, (_, n) => producer.enqueue(sampleSubmission(n), how)),
    );
    expect(await jobNames()).toEqual(['apply 200', 'apply 200', 'apply 50']);
    expect(await producer.counts()).toMatchObject({ waiting: 450 });
  });

  test('a job carries at most 256 KiB, unless one submission alone is larger', async () => {
    const body = 'x'.repeat(60_000);
    await Promise.all(
      Array.from({ length: 10 }, (_, n) => producer.enqueue(sampleSubmission(n, { body }))),
    );
    expect(await jobNames()).toEqual(['apply 2', 'apply 4', 'apply 4']);
  });

  test('a repeated submission whose group still waits holds back nobody: it stands twice', async () => {
    const submission = sampleSubmission();
    await Promise.all([producer.enqueue(submission), producer.enqueue(sampleSubmission(1))]);
    await Promise.all([producer.enqueue(submission), producer.enqueue(sampleSubmission(2))]);
    expect(await jobNames()).toEqual(['apply 2', 'apply 2']);
    expect(await producer.counts()).toMatchObject({ waiting: 4 });
    const taken: string[] = [];
    const connection = connectRedis(given.url, { role: 'worker' });
    const worker = await startApplyWorker(connection, {
      ...{ concurrency: 10, logger },
      apply: each(({ id }) => void taken.push(id)),
    });
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject({ waiting: 0 }));
    await worker.close({ timeoutMs: 2_000 });
    connection.disconnect();
    expect(new Set(taken)).toEqual(new Set([0, 1, 2].map((n) => sampleSubmission(n).id)));
  });

  test('leads of more jobs than are counted one by one are counted as well', async () => {
    for (let n = 0; n < 120; n += 1)
      await Promise.all([1, 2].map((m) => producer.enqueue(sampleSubmission(2 * n + m))));
    expect(await jobNames()).toHaveLength(120);
    expect(await producer.counts()).toMatchObject({ waiting: 240, background: 0 });
    // A counter that is lost is not believed beyond what can be.
    await redis.del(queue.toKey('leads'));
    expect(await producer.counts()).toMatchObject({ waiting: 120 });
  });

  test.each([
    ['', { background: false }],
    [' in the background', { background: true }],
  ])('what is put in%s is there when Redis had forgotten the scripts', async (_, how) => {
    await redis.script('FLUSH');
    await Promise.all([1, 2].map((n) => producer.enqueue(sampleSubmission(n), how)));
    expect(await jobNames()).toEqual(['apply 2']);
    expect(await redis.hvals(queue.toKey('leads'))).toEqual(['2']);
  });

  test('what is in the queue are jobs that BullMQ itself knows', async () => {
    await producer.enqueue(sampleSubmission(1));
    const [job] = await queue.getWaiting();
    expect(job?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/);
    expect(job?.id).not.toBe(sampleSubmission(1).id);
    expect(await job?.getState()).toBe('waiting');
  });

  /** Of those that wait, sorted. */
  async function jobNames(): Promise<string[]> {
    const jobs = await queue.getJobs(['wait', 'prioritized']);
    return jobs.map(({ name }) => name).sort();
  }

  test('what is put in the background waits behind all others, and is counted as waiting', async () => {
    await producer.enqueue(sampleSubmission(1), { background: true });
    await producer.replay(sampleSubmission(2), 'run');
    await producer.enqueue(sampleSubmission(3));
    expect(await producer.counts()).toMatchObject({ waiting: 3, background: 2 });
    const taken: { id: string; replay: boolean }[] = [];
    const connection = connectRedis(given.url, { role: 'worker' });
    const worker = await startApplyWorker(connection, {
      concurrency: 1,
      logger,
      apply: each(({ id }, { replay }) => void taken.push({ id, replay })),
    });
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject({ waiting: 0 }));
    await worker.close({ timeoutMs: 2_000 });
    connection.disconnect();
    expect(taken).toEqual([
      { id: sampleSubmission(3).id, replay: false },
      { id: sampleSubmission(1).id, replay: false },
      { id: sampleSubmission(2).id, replay: true },
    ]);
  });

  test('a replay stands beside the job of its submission', async () => {
    const submission = sampleSubmission(1);
    await producer.enqueue(submission);
    for (const run of ['a', 'b']) await producer.replay(submission, run);
    expect(await jobNames()).toEqual(['apply 1', 'replay 1', 'replay 1']);
    expect(await producer.counts()).toMatchObject({ waiting: 3, background: 2 });
  });

  test('one that was answered with another lead id has a job of its own beside that of its submission', async () => {
    const submission = sampleSubmission(1);
    const answeredLeadId = sampleSubmission(2).leadId;
    const connection = connectRedis(given.url, { role: 'worker' });
    await Promise.all([
      producer.enqueue(submission),
      producer.enqueue({ ...submission, answeredLeadId }),
    ]);
    const worker = await startApplyWorker(connection, {
      ...{ concurrency: 10, logger },
      apply: each(() => ({ kind: 'failed', reason: 'no' })),
    });
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject({ delayed: 2 }));
    await worker.close({ timeoutMs: 2_000 });
    connection.disconnect();
    expect((await queue.getDelayed()).map(({ id }) => id).sort()).toEqual(
      [submission.id, `alias-${answeredLeadId}`].sort(),
    );
  });

  test('counts through any connection', async () => {
    await producer.enqueue(sampleSubmission());
    const admin = connectRedis(given.url, { role: 'admin' });
    expect(await queueCounts(admin)).toEqual({
      waiting: 1,
      background: 0,
      active: 0,
      delayed: 0,
      failed: 0,
      paused: false,
    });
    expect(await admin.ping()).toBe('PONG');
    admin.disconnect();
  });
});

test('a waiting lead of 450 bytes costs Redis at most 350 bytes, all told, when thirty come at once', async () => {
  const server = await startRedisServer();
  const { redis, producer } = await open(server.url);
  const put = (from: number, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, n) => producer.enqueue(sampleSubmission(from + n))),
    );
  expect(Buffer.byteLength(sampleSubmission().body)).toBeGreaterThan(440);
  for (let from = 0; from < 600; from += 30) await put(from, 30);
  const before = await usedMemory(redis);
  for (let from = 600; from < 6_600; from += 30) await put(from, 30);
  const bytes = ((await usedMemory(redis)) - before) / 6_000;
  expect(bytes).toBeLessThan(350);
  await producer.close();
  redis.disconnect();
  await server.stop();
});

describe('a producer whose Redis is full', () => {
  let server: OwnServer;
  beforeAll(async () => void (server = await startRedisServer()));
  afterAll(() => server.stop());

  test('rejects what Redis refused, of a group all or nothing, and takes it once there is room', async () => {
    const { redis, producer } = await open(server.url);
    await redis.config('SET', 'maxmemory', String((await usedMemory(redis)) + 150_000));
    const all = Array.from({ length: 2_000 }, (_, n) => sampleSubmission(n));
    const refused: Submission[] = [];
    for (let from = 0; from < all.length; from += 30) {
      const some = all.slice(from, from + 30);
      const outcomes = await Promise.allSettled(some.map((one) => producer.enqueue(one)));
      refused.push(...some.filter((_, n) => outcomes[n]?.status === 'rejected'));
    }
    expect(refused.length).toBeGreaterThan(0);
    // A group is in whole, or not at all.
    expect(await producer.counts()).toMatchObject({ waiting: all.length - refused.length });
    await redis.config('SET', 'maxmemory', '0');
    for (let from = 0; from < refused.length; from += 250)
      await Promise.all(refused.slice(from, from + 250).map((one) => producer.enqueue(one)));
    expect(await producer.counts()).toMatchObject({ waiting: all.length });
    await producer.close();
    redis.disconnect();
  });
});

describe('a producer whose Redis goes away', () => {
  let server: OwnServer;
  beforeAll(async () => void (server = await startRedisServer()));
  afterAll(() => server.stop());

  test('fails fast, keeps failing fast, and works again once Redis is back', async () => {
    const { redis, producer } = await open(server.url);
    await producer.enqueue(sampleSubmission(1));
    await server.kill();
    for (const n of [2, 3]) {
      const start = performance.now();
      await expect(producer.enqueue(sampleSubmission(n))).rejects.toThrow();
      expect(performance.now() - start).toBeLessThan(700);
    }
    await server.restart();
    await vi.waitFor(() => producer.enqueue(sampleSubmission(2)), 5_000);
    // What was put in before Redis was killed is there: its log is synced before it answers.
    expect(await producer.counts()).toMatchObject({ waiting: 2 });
    await producer.close();
    redis.disconnect();
  });

  test('gives up on a Redis that hangs, and takes it again when it answers', async () => {
    const { redis, producer } = await open(server.url);
    const { waiting } = await producer.counts();
    await server.kill('SIGSTOP');
    const start = performance.now();
    await expect(producer.enqueue(sampleSubmission(9))).rejects.toThrow(/timed out/);
    expect(performance.now() - start).toBeLessThan(1_000);
    await server.kill('SIGCONT');
    await vi.waitFor(() => producer.enqueue(sampleSubmission(9)), 5_000);
    // What it gave up on may have been put in all the same: it is applied once.
    expect((await producer.counts()).waiting).toBeGreaterThan(waiting);
    await producer.close();
    redis.disconnect();
  });
});

async function usedMemory(redis: RedisConnection): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}
