import { awaitRedis, connectRedis, type RedisConnection } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import { sampleSubmission, startRedisServer, testRedis, type OwnServer } from '@leadgate/testkit';
import { Queue } from 'bullmq';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startApplyWorker } from './shards/take-shards.ts';
import { openProducer, type Producer } from './producer.ts';
import { queueCounts } from './queue-counts.ts';
import { PREFIX, queueName } from './queue-names.ts';

const logger = { debug: vi.fn(), warn: vi.fn(), error: vi.fn() };

async function open(url: string): Promise<{ redis: RedisConnection; producer: Producer }> {
  const redis = connectRedis(url, { role: 'producer' });
  await awaitRedis(redis);
  return { redis, producer: await openProducer(redis, { logger }) };
}

describe('a producer', () => {
  let given: Awaited<ReturnType<typeof testRedis>>;
  let redis: RedisConnection;
  let producer: Producer;
  beforeAll(async () => {
    given = await testRedis();
    ({ redis, producer } = await open(given.url));
  });
  beforeEach(() => given.flush());
  afterAll(async () => {
    await producer.close();
    redis.disconnect();
  });

  test('puts a submission in once, however often it is told to', async () => {
    const submission = sampleSubmission();
    await producer.enqueue(submission);
    await Promise.all([producer.enqueue(submission), producer.enqueue(submission)]);
    expect(await producer.counts()).toMatchObject({ waiting: 1 });
  });

  test.each([
    ['', { background: false }],
    ['in the background, ', { background: true }],
  ])(
    '%ssends what is asked for in the same moment together, at most 200 at once',
    async (_, how) => {
      await producer.enqueue(sampleSubmission(450), how);
      const call = vi.spyOn(redis, 'evalsha');
      await Promise.all(
        Array.from({ length: 450 }, (_, n) => producer.enqueue(sampleSubmission(n), how)),
      );
      expect(call).toHaveBeenCalledTimes(3);
      expect(await producer.counts()).toMatchObject({ waiting: 451 });
    },
  );

  test.each([
    ['a job', { background: false }, {}],
    ['one in the background', { background: true }, { priority: 10 }],
  ])('stores %s as BullMQ itself does, and tells its events', async (_, how, more) => {
    const submission = sampleSubmission(1);
    const queue = new Queue(queueName(0), {
      ...{ connection: redis, prefix: PREFIX, skipMetasUpdate: true, skipVersionCheck: true },
    });
    const keys = [submission.id, 'wait', 'marker', 'meta', 'id', 'prioritized', 'pc'].map((key) =>
      queue.toKey(key),
    );
    const dump = async () => {
      const [job, waiting, marker, meta, id, prioritized] = await Promise.all([
        redis.hgetall(keys[0] ?? ''),
        redis.lrange(keys[1] ?? '', 0, -1),
        redis.zrange(keys[2] ?? '', '0', '-1'),
        redis.hgetall(keys[3] ?? ''),
        redis.get(keys[4] ?? ''),
        redis.zrange(keys[5] ?? '', '0', '-1', 'WITHSCORES'),
      ]);
      const events = await redis.xrange(queue.toKey('events'), '-', '+');
      const { jobId: _, ...opts } = JSON.parse(job.opts ?? '') as Record<string, unknown>;
      expect(Math.abs(Date.now() - Number(job.timestamp))).toBeLessThan(60_000);
      return {
        ...{ job: { ...job, timestamp: 0, opts }, waiting, marker, meta, id, prioritized },
        events: events.map(([, fields]) => fields),
      };
    };
    await producer.enqueue(submission, how);
    const ours = await dump();
    const data = JSON.parse((await redis.hget(keys[0] ?? '', 'data')) ?? '') as unknown;
    await redis.del(...keys.filter((key) => !key.endsWith(':meta')), queue.toKey('events'));
    await queue.add('apply', data, {
      ...{ jobId: submission.id, attempts: 5, backoff: { type: 'exponential', delay: 1_000 } },
      ...more,
    });
    expect(ours).toEqual(await dump());
    await queue.close();
  });

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
      apply: ({ id }, { replay }) => Promise.resolve(void taken.push({ id, replay })),
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

  test('a replay stands beside the job of its submission, once a run', async () => {
    const submission = sampleSubmission(1);
    await producer.enqueue(submission);
    for (const run of ['a', 'b', 'a']) await producer.replay(submission, run);
    expect(await producer.counts()).toMatchObject({ waiting: 3, background: 2 });
  });

  test('one that was answered with another lead id stands beside the job of its submission', async () => {
    const submission = sampleSubmission(1);
    const answeredLeadId = sampleSubmission(2).leadId;
    await producer.enqueue(submission);
    for (let i = 0; i < 2; i++) await producer.enqueue({ ...submission, answeredLeadId });
    expect(await producer.counts()).toMatchObject({ waiting: 2 });
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

test('a waiting lead of 450 bytes costs Redis at most 1.4 KB, all told', async () => {
  const server = await startRedisServer();
  const { redis, producer } = await open(server.url);
  const put = (from: number, count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, n) => producer.enqueue(sampleSubmission(from + n))),
    );
  expect(Buffer.byteLength(sampleSubmission().body)).toBeGreaterThan(440);
  await put(0, 500);
  const before = await usedMemory(redis);
  for (let from = 500; from < 5_500; from += 500) await put(from, 500);
  const bytes = ((await usedMemory(redis)) - before) / 5_000;
  expect(bytes).toBeLessThan(1_400);
  await producer.close();
  redis.disconnect();
  await server.stop();
});

describe('a producer whose Redis is full', () => {
  let server: OwnServer;
  beforeAll(async () => void (server = await startRedisServer({ settings: { maxmemory: '3mb' } })));
  afterAll(() => server.stop());

  test('rejects what Redis refused, loses nothing, and put in again it stands once', async () => {
    const { redis, producer } = await open(server.url);
    const all = Array.from({ length: 2_000 }, (_, n) => sampleSubmission(n));
    const refused: Submission[] = [];
    for (let from = 0; from < all.length; from += 250) {
      const some = all.slice(from, from + 250);
      const outcomes = await Promise.allSettled(some.map((one) => producer.enqueue(one)));
      refused.push(...some.filter((_, n) => outcomes[n]?.status === 'rejected'));
    }
    expect(refused.length).toBeGreaterThan(0);
    expect((await producer.counts()).waiting).toBeGreaterThanOrEqual(all.length - refused.length);
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

  test('gives up on a Redis that hangs, and the job it may have put in is put in once', async () => {
    const { redis, producer } = await open(server.url);
    const { waiting } = await producer.counts();
    await server.kill('SIGSTOP');
    const start = performance.now();
    await expect(producer.enqueue(sampleSubmission(9))).rejects.toThrow(/timed out/);
    expect(performance.now() - start).toBeLessThan(700);
    await server.kill('SIGCONT');
    await vi.waitFor(() => producer.enqueue(sampleSubmission(9)), 5_000);
    expect(await producer.counts()).toMatchObject({ waiting: waiting + 1 });
    await producer.close();
    redis.disconnect();
  });
});

async function usedMemory(redis: RedisConnection): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}
