import { awaitRedis, connectRedis, type RedisConnection } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import {
  sampleSubmission,
  startRedisServer,
  startSilentProxy,
  testRedis,
  type OwnServer,
} from '@leadgate/testkit';
import { Queue } from 'bullmq';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import {
  startApplyWorker,
  type ApplyWorker,
  type ApplyWorkerOptions,
} from './shards/take-shards.ts';
import { AttemptFailed, GiveBack } from './job-outcome.ts';
import { openProducer, type Producer } from './producer.ts';
import { queueCounts } from './queue-counts.ts';
import { PREFIX, queueName } from './queue-names.ts';

const logger = { debug: vi.fn(), warn: vi.fn(), error: vi.fn() };
const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (let close = closes.pop(); close !== undefined; close = closes.pop()) await close();
});

/** A promise to be resolved by hand. */
function latch() {
  let open = (): void => {};
  const promise = new Promise<void>((resolve) => (open = resolve));
  return { promise, open };
}

async function startWorker(
  url: string,
  options: Partial<ApplyWorkerOptions> & Pick<ApplyWorkerOptions, 'apply'>,
): Promise<ApplyWorker> {
  const redis = connectRedis(url, { role: 'worker' });
  closes.push(() => redis.disconnect());
  const worker = await startApplyWorker(redis, { concurrency: 10, logger, ...options });
  closes.push(() => worker.close({ timeoutMs: 3_000 }).catch(() => {}));
  return worker;
}

async function open(
  url: string,
): Promise<{ redis: RedisConnection; producer: Producer; queue: Queue }> {
  const redis = connectRedis(url, { role: 'producer' });
  closes.push(() => redis.disconnect());
  await awaitRedis(redis);
  const producer = await openProducer(redis, { logger });
  const queue = new Queue(queueName(0), {
    connection: redis,
    prefix: PREFIX,
    skipVersionCheck: true,
  });
  queue.on('error', () => {});
  closes.push(() => queue.close());
  closes.push(() => producer.close());
  return { redis, producer, queue };
}

const emptyQueue = { waiting: 0, active: 0, delayed: 0, failed: 0 };

describe('a worker of the queue', () => {
  let url: string;
  let producer: Producer;
  let redis: RedisConnection;
  let queue: Queue;
  beforeAll(async () => void (url = (await testRedis()).url));
  beforeEach(async () => {
    ({ redis, producer, queue } = await open(url));
    closes.push(() => redis.flushdb());
  });

  test('hands over the submission as it was enqueued, and removes the job once applied', async () => {
    const submission = sampleSubmission(1);
    const applied: Submission[] = [];
    const worker = await startWorker(url, {
      apply: (one, info) => {
        expect(info).toEqual({ attempt: 1, stalls: 0, replay: false });
        applied.push(one);
        return Promise.resolve();
      },
    });
    await producer.enqueue(submission);
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue));
    expect(applied).toEqual([submission]);
    await vi.waitFor(() => expect(worker.progress()).toMatchObject({ processed: 1, active: 0 }));
    expect(await redis.keys(`*${submission.id}*`)).toEqual([]);
  });

  test('does not remove a job before it is applied', async () => {
    const applying = latch();
    const started = latch();
    await startWorker(url, {
      apply: () => {
        started.open();
        return applying.promise;
      },
    });
    await producer.enqueue(sampleSubmission(1));
    await started.promise;
    expect(await producer.counts()).toMatchObject({ active: 1 });
    applying.open();
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue));
  });

  test('jobs that are applied together are completed in one call', async () => {
    const applying = latch();
    const connection = connectRedis(url, { role: 'worker' });
    closes.push(() => connection.disconnect());
    const worker = await startApplyWorker(connection, {
      ...{ concurrency: 30, logger },
      apply: () => applying.promise,
    });
    closes.push(() => worker.close({ timeoutMs: 3_000 }));
    await Promise.all(Array.from({ length: 30 }, (_, n) => producer.enqueue(sampleSubmission(n))));
    await vi.waitFor(() => expect(worker.progress().active).toBe(30));
    const calls = vi.spyOn(connection, 'evalsha');
    applying.open();
    await vi.waitFor(() => expect(worker.progress()).toMatchObject({ processed: 30, active: 0 }));
    // Redis may not know the script yet, and is then told it.
    expect(calls.mock.calls.length).toBe(1);
    expect(await producer.counts()).toMatchObject(emptyQueue);
  });

  test('holds as many jobs at once as it may, and no more', async () => {
    const applying = latch();
    const worker = await startWorker(url, { concurrency: 3, apply: () => applying.promise });
    await Promise.all([1, 2, 3, 4, 5].map((n) => producer.enqueue(sampleSubmission(n))));
    await vi.waitFor(() => expect(worker.progress().active).toBe(3));
    expect(await producer.counts()).toMatchObject({ active: 3, waiting: 2 });
    applying.open();
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue));
  });

  test('fails a job that it cannot read by itself, at once, without quoting it', async () => {
    const apply = vi.fn(() => Promise.resolve());
    await queue.addBulk(
      [{ z: 1, d: 'AAAA' }, { name: 'Ana', email: 'ana@example.com' }, null].map((data, n) => ({
        name: 'apply',
        data,
        opts: { jobId: `bad-${n}`, attempts: 5 },
      })),
    );
    await producer.enqueue(sampleSubmission(1));
    await startWorker(url, { apply });
    await vi.waitFor(async () =>
      expect(await producer.counts()).toMatchObject({ ...emptyQueue, failed: 3 }),
    );
    expect(apply).toHaveBeenCalledTimes(1);
    for (const job of await queue.getFailed()) {
      expect(job.failedReason).toBe(
        'the job is not one that this version of the worker understands',
      );
      expect(String(job.stacktrace)).not.toContain('ana@');
    }
  });

  test('keeps of an unexpected error its type and code, of a told one its reason', async () => {
    const errors: Record<number, Error> = {
      1: Object.assign(new RangeError('bad ana@example.com'), { code: 'E_RANGE' }),
      2: new AttemptFailed('Postgres refused the data (22021)'),
    };
    await Promise.all([1, 2].map((n) => producer.enqueue(sampleSubmission(n))));
    await startWorker(url, {
      apply: ({ id }) =>
        Promise.reject(errors[id === sampleSubmission(1).id ? 1 : 2] ?? new Error('no such')),
    });
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject({ delayed: 2 }));
    const reasons = new Map(
      (await queue.getDelayed()).map((job) => [job.id, [job.failedReason, job.stacktrace]]),
    );
    expect(reasons.get(sampleSubmission(1).id)?.[0]).toBe('failed with RangeError (E_RANGE)');
    expect(reasons.get(sampleSubmission(2).id)?.[0]).toBe('Postgres refused the data (22021)');
    expect(JSON.stringify([...reasons])).not.toContain('ana@example.com');
  });

  test('tries again after a failure, five times in all, and then keeps the job', async () => {
    const submission = sampleSubmission(1);
    const attempts: number[] = [];
    await producer.enqueue(submission);
    await startWorker(url, {
      apply: async (_, { attempt }) => {
        attempts.push(attempt);
        throw new AttemptFailed('no');
      },
    });
    for (const attempt of [1, 2, 3, 4]) {
      await vi.waitFor(async () => {
        expect(attempts).toHaveLength(attempt);
        expect(await producer.counts()).toMatchObject({ delayed: 1, active: 0 });
      });
      await (await queue.getJob(submission.id))?.promote();
    }
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject({ failed: 1 }));
    expect(attempts).toEqual([1, 2, 3, 4, 5]);
    // Enqueued again (a sender that retries), it stays what it is: somebody has to look at it.
    await producer.enqueue(submission);
    expect(await producer.counts()).toMatchObject({ ...emptyQueue, failed: 1 });
  });

  test('gives a job back without spending an attempt, and it is the next to be taken', async () => {
    const seen: [string, number][] = [];
    const first = sampleSubmission(1);
    await producer.enqueue(first);
    await producer.enqueue(sampleSubmission(2));
    await startWorker(url, {
      concurrency: 1,
      apply: ({ id }, { attempt }) => {
        seen.push([id, attempt]);
        return seen.length < 3 ? Promise.reject(new GiveBack()) : Promise.resolve();
      },
    });
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue));
    const again: [string, number] = [first.id, 1];
    expect(seen).toEqual([again, again, again, [sampleSubmission(2).id, 1]]);
  });

  test('never fails a job for having stalled, however often', async () => {
    const release = latch();
    const stalls: number[] = [];
    await producer.enqueue(sampleSubmission(1));
    await startWorker(url, {
      lockMs: 200,
      apply: async ({ id }, info) => {
        expect(info.attempt).toBe(1);
        stalls.push(info.stalls);
        if (stalls.length === 5) release.open();
        // As if the process had gone: its lock is not renewed, and another worker finds it so.
        else await redis.del(`${PREFIX}:${queueName(0)}:${id}:lock`);
        await release.promise;
      },
    });
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue), 10_000);
    expect(stalls).toEqual([0, 1, 2, 3, 4]);
  });

  test('paused takes no new jobs, keeps the locks of those it has, and resumes', async () => {
    const applying = latch();
    const apply = vi.fn(() => applying.promise);
    const worker = await startWorker(url, { lockMs: 300, apply });
    await producer.enqueue(sampleSubmission(1));
    await vi.waitFor(() => expect(worker.progress().active).toBe(1));
    worker.pause();
    // The fetch under way when it was paused may still bring one.
    await producer.enqueue(sampleSubmission(2));
    await producer.enqueue(sampleSubmission(3));
    const lock = `${PREFIX}:${queueName(0)}:${sampleSubmission(1).id}:lock`;
    const token = await redis.get(lock);
    // Three times as long as a lock lasts by itself.
    const start = performance.now();
    await vi.waitUntil(() => performance.now() - start > 900);
    expect(await redis.get(lock)).toBe(token);
    expect(worker.progress().active).toBeLessThanOrEqual(2);
    expect(await producer.counts()).toMatchObject({ delayed: 0, failed: 0 });
    worker.resume();
    await vi.waitFor(() => expect(worker.progress().active).toBe(3));
    applying.open();
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue));
    expect(apply).toHaveBeenCalledTimes(3);
  });

  test('closing waits for running jobs, but not for ever', async () => {
    const applying = latch();
    const worker = await startWorker(url, { apply: () => applying.promise });
    await producer.enqueue(sampleSubmission(1));
    await vi.waitFor(() => expect(worker.progress().active).toBe(1));
    await expect(worker.close({ timeoutMs: 50 })).rejects.toThrow(
      '1 jobs were still running after 50 ms',
    );
    applying.open();
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue));
  });
});

describe('a worker of the queue whose Redis', () => {
  let server: OwnServer;
  beforeAll(async () => void (server = await startRedisServer()));
  afterAll(() => server.stop());

  test('is killed while jobs are held: each is applied, none fails, and it goes on by itself', async () => {
    const { producer } = await open(server.url);
    const applying = latch();
    const applied = new Set<string>();
    const worker = await startWorker(server.url, {
      lockMs: 1_000,
      apply: async ({ id }) => {
        await applying.promise;
        applied.add(id);
      },
    });
    await Promise.all([1, 2, 3].map((n) => producer.enqueue(sampleSubmission(n))));
    await vi.waitFor(() => expect(worker.progress().active).toBe(3));
    await server.kill();
    applying.open();
    await server.restart();
    await vi.waitFor(() => producer.enqueue(sampleSubmission(4)), 5_000);
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue), 15_000);
    expect(applied.size).toBe(4);
  });

  test('falls silent while it waits for a job that is due later: it takes the next one soon after', async () => {
    const proxy = await startSilentProxy(server.url);
    closes.push(() => proxy.close());
    const { producer, queue } = await open(server.url);
    const worker = await startWorker(proxy.url, { apply: () => Promise.resolve() });
    await queue.add('apply', {}, { delay: 600_000, jobId: 'much-later' });
    closes.push(() => queue.remove('much-later'));
    await producer.enqueue(sampleSubmission(5));
    await vi.waitFor(() => expect(worker.progress().processed).toBe(1));
    proxy.silence();
    proxy.admit();
    await producer.enqueue(sampleSubmission(6));
    await vi.waitFor(() => expect(worker.progress().processed).toBe(2), 15_000);
  }, 30_000);

  test('is full: backs off instead of asking in a loop, and drains once there is room', async () => {
    const { redis, producer } = await open(server.url);
    await Promise.all(
      Array.from({ length: 50 }, (_, n) => producer.enqueue(sampleSubmission(100 + n))),
    );
    const admin = connectRedis(server.url, { role: 'admin' });
    closes.push(() => admin.disconnect());
    await redis.config('SET', 'maxmemory', '1');
    logger.error.mockClear();
    const before = await commandsOf(admin);
    const worker = await startWorker(server.url, { apply: () => Promise.resolve() });
    await vi.waitFor(() => expect(logger.error.mock.calls.length).toBeGreaterThanOrEqual(2), 5_000);
    expect((await commandsOf(admin)) - before).toBeLessThan(200);
    expect(worker.progress().refusal).toBe('OOM');
    expect(logger.error.mock.calls[0]?.[1]).toMatch(/raise maxmemory/);
    await redis.config('SET', 'maxmemory', '0');
    await vi.waitFor(() => expect(worker.progress().refusal).toBeNull(), 20_000);
    await vi.waitFor(
      async () => expect(await queueCounts(admin)).toMatchObject(emptyQueue),
      10_000,
    );
  });
});

async function commandsOf(redis: RedisConnection): Promise<number> {
  return Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
}
