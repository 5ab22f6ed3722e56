import { awaitRedis, connectRedis, type RedisConnection } from '@leadgate/boot';
import { memberLine, packJob, type Submission } from '@leadgate/contract';
import {
  sampleSubmission,
  startRedisServer,
  startSilentProxy,
  testRedis,
  type OwnServer,
} from '@leadgate/testkit';
import { Queue } from 'bullmq';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startApplyWorker, type ApplyWorker, type ApplyWorkerOptions } from './apply-worker.ts';
import { queueCounts } from './counts.ts';
import { eraseJobs } from './jobs.ts';
import { openProducer, type Producer } from './producer.ts';
import { each, FAILED, latch, NACKED } from '../test/queue.ts';
import { PREFIX, queueName } from './shards.ts';

const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const closes: (() => unknown)[] = [];
afterEach(async () => {
  for (let close = closes.pop(); close !== undefined; close = closes.pop()) await close();
});

/** Puts each in by itself: in a job of its own. */
async function enqueueOneByOne(producer: Producer, numbers: readonly number[]): Promise<void> {
  for (const n of numbers) await producer.enqueue(sampleSubmission(n));
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
      apply: each((one, info) => {
        expect(info).toEqual({ replay: false, alone: false });
        applied.push(one);
      }),
    });
    await producer.enqueue(submission);
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue));
    expect(applied).toEqual([submission]);
    await vi.waitFor(() => expect(worker.progress()).toMatchObject({ processed: 1, active: 0 }));
    expect(await queue.getJobCountByTypes('completed')).toBe(0);
    await vi.waitFor(async () => expect(await redis.exists(queue.toKey('leads'))).toBe(0));
  });

  test('does not remove a job before it is applied', async () => {
    const applying = latch();
    const started = latch();
    await startWorker(url, {
      apply: each(() => {
        started.open();
        return applying.promise;
      }),
    });
    await producer.enqueue(sampleSubmission(1));
    await started.promise;
    expect(await producer.counts()).toMatchObject({ active: 1 });
    applying.open();
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue));
  });

  test('holds as many leads at once as it may, and no more', async () => {
    const applying = latch();
    const worker = await startWorker(url, {
      concurrency: 3,
      apply: each(() => applying.promise),
    });
    await enqueueOneByOne(producer, [1, 2, 3, 4, 5]);
    await vi.waitFor(() => expect(worker.progress().active).toBe(3));
    expect(await producer.counts()).toMatchObject({ active: 3, waiting: 2 });
    applying.open();
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue));
  });

  test('fails a job that it cannot read by itself, at once, without quoting it', async () => {
    const apply = vi.fn(each(() => {}));
    await queue.addBulk(
      [{ v: 2, n: 1, d: 'AAAA' }, { name: 'Ana', email: 'ana@example.com' }, null].map(
        (data, n) => ({ name: 'apply 1', data, opts: { jobId: `bad-${n}`, attempts: 5 } }),
      ),
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

  test('applies what it can read of a group, and keeps what it cannot as a failed job', async () => {
    const good = memberLine({ jobId: sampleSubmission(1).id, submission: sampleSubmission(1) });
    const data = packJob([good, '{"email":"ana@example.com"}'], { replay: false });
    await queue.add('apply 2', data, { jobId: 'group' });
    const applied: string[] = [];
    await startWorker(url, { apply: each(({ id }) => void applied.push(id)) });
    await vi.waitFor(async () =>
      expect(await producer.counts()).toMatchObject({ ...emptyQueue, failed: 1 }),
    );
    expect(applied).toEqual([sampleSubmission(1).id]);
    const [job] = await queue.getFailed();
    expect(job?.failedReason).toBe(
      'the job is not one that this version of the worker understands',
    );
    expect(job?.name).toBe('apply 1');
  });

  test('keeps of an unexpected error its type and code, of a told one its reason', async () => {
    const error = Object.assign(new RangeError('bad ana@example.com'), { code: 'E_RANGE' });
    await enqueueOneByOne(producer, [1, 2]);
    await startWorker(url, {
      apply: each(({ id }) => {
        if (id === sampleSubmission(1).id) throw error;
        return { kind: 'failed', reason: 'Postgres refused the data (22021)' };
      }),
    });
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject({ delayed: 2 }));
    const reasons = new Map(
      (await queue.getDelayed()).map((job) => [job.id, [job.failedReason, job.stacktrace]]),
    );
    expect(reasons.get(sampleSubmission(1).id)?.[0]).toBe('failed with RangeError (E_RANGE)');
    expect(reasons.get(sampleSubmission(2).id)?.[0]).toBe('Postgres refused the data (22021)');
    expect(JSON.stringify([...reasons])).not.toContain('ana@example.com');
  });

  test('gives what failed in a group a job of its own, and completes the group', async () => {
    const poison = sampleSubmission(7).id;
    const taken: { ids: string[]; alone: boolean }[] = [];
    await Promise.all(Array.from({ length: 200 }, (_, n) => producer.enqueue(sampleSubmission(n))));
    expect(await queue.getWaitingCount()).toBe(1);
    await startWorker(url, {
      apply: (submissions, { alone }) => {
        taken.push({ ids: submissions.map(({ id }) => id), alone });
        return Promise.resolve(
          submissions.map(({ id }) => (id === poison ? FAILED : { kind: 'settled' })),
        );
      },
    });
    await vi.waitFor(async () =>
      expect(await producer.counts()).toMatchObject({ ...emptyQueue, delayed: 1 }),
    );
    expect(taken.map(({ ids, alone }) => [ids.length, alone])).toEqual([
      [200, false],
      [1, true],
    ]);
    const job = await queue.getJob(poison);
    expect(job).toMatchObject({ name: 'apply 1', attemptsMade: 1, failedReason: 'no' });
    expect(job?.opts.attempts).toBe(5);
  });

  test('a crash between putting failed ones in and completing the group repeats both, and changes nothing', async () => {
    const poison = sampleSubmission(1).id;
    await Promise.all([0, 1, 2].map((n) => producer.enqueue(sampleSubmission(n))));
    const [group] = await queue.getWaiting();
    const lock = queue.toKey(`${group?.id ?? ''}:lock`);
    const applied: string[] = [];
    let crashes = 1;
    await startWorker(url, {
      lockMs: 300,
      apply: each(async ({ id }) => {
        applied.push(id);
        if (id !== poison) return;
        // As if the process had gone before it completed the group: another has the job by then.
        if (crashes-- > 0) await redis.set(lock, 'another');
        return FAILED;
      }),
    });
    await vi.waitFor(
      async () => {
        // Not the lock of the second run.
        if ((await redis.get(lock)) === 'another') await redis.del(lock);
        expect(applied.filter((id) => id === sampleSubmission(0).id)).toHaveLength(2);
        expect(await producer.counts()).toMatchObject({ ...emptyQueue, delayed: 1 });
      },
      { timeout: 15_000, interval: 100 },
    );
    expect((await queue.getDelayed()).map(({ id }) => id)).toEqual([poison]);
  });

  test('tries again after a failure, five times in all, and then keeps the job', async () => {
    const submission = sampleSubmission(1);
    const attempts: boolean[] = [];
    await producer.enqueue(submission);
    await startWorker(url, {
      apply: each((_, { alone }) => {
        attempts.push(alone);
        return FAILED;
      }),
    });
    // Once with what it came with, which was nothing, and then five times in its own job.
    for (const attempt of [2, 3, 4, 5]) {
      await vi.waitFor(async () => {
        expect(attempts).toHaveLength(attempt);
        expect(await producer.counts()).toMatchObject({ delayed: 1, active: 0 });
      });
      await (await queue.getJob(submission.id))?.promote();
    }
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject({ failed: 1 }));
    expect(attempts).toEqual([false, true, true, true, true, true]);
    // Enqueued again (a sender that retries), it stays what it is: somebody has to look at it.
    await producer.enqueue(submission);
    await vi.waitFor(() => expect(attempts).toHaveLength(7));
    await vi.waitFor(async () =>
      expect(await producer.counts()).toMatchObject({ ...emptyQueue, failed: 1 }),
    );
  });

  test('fails a job for good while its person is being erased, and keeps nothing of it', async () => {
    const submission = sampleSubmission(1);
    await producer.enqueue(submission);
    const [held, mayFail] = [latch(), latch()];
    let attempts = 0;
    await startWorker(url, {
      apply: each(async () => {
        attempts += 1;
        if (attempts === 6) {
          held.open();
          await mayFail.promise;
        }
        return FAILED;
      }),
    });
    for (const attempt of [2, 3, 4, 5]) {
      await vi.waitFor(async () => {
        expect(attempts).toBe(attempt);
        expect(await producer.counts()).toMatchObject({ delayed: 1, active: 0 });
      });
      await (await queue.getJob(submission.id))?.promote();
    }
    await held.promise;
    const isTheirs = ({ leadId }: Submission) => leadId === submission.leadId;
    expect(await eraseJobs(redis, isTheirs, { dryRun: true })).toBe(0);
    const erasing = eraseJobs(redis, isTheirs, { dryRun: false });
    // Another person's is not waited for, nor in the way.
    expect(await eraseJobs(redis, () => false, { dryRun: false })).toBe(0);
    expect(await producer.counts()).toMatchObject({ active: 1, failed: 0 });
    mayFail.open();
    expect(await erasing).toBe(1);
    expect(await producer.counts()).toMatchObject(emptyQueue);
  });

  test('puts a job back without spending an attempt, and it is the next to be taken', async () => {
    const seen: string[] = [];
    const first = sampleSubmission(1);
    await enqueueOneByOne(producer, [1, 2]);
    await startWorker(url, {
      concurrency: 1,
      apply: each(({ id }) => {
        seen.push(id);
        return seen.length < 3 ? NACKED : undefined;
      }),
    });
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue));
    expect(seen).toEqual([first.id, first.id, first.id, sampleSubmission(2).id]);
  });

  test('puts a whole group back when one of it was not tried, whatever of it stands', async () => {
    await Promise.all([1, 2, 3].map((n) => producer.enqueue(sampleSubmission(n))));
    const worker = await startWorker(url, {
      apply: each(({ id }) => {
        if (id === sampleSubmission(1).id) return FAILED;
        if (id === sampleSubmission(2).id) {
          worker.pause();
          return NACKED;
        }
        return undefined;
      }),
    });
    await vi.waitFor(async () =>
      expect(await producer.counts()).toMatchObject({ ...emptyQueue, waiting: 3 }),
    );
    const [job] = await queue.getWaiting();
    expect(job).toMatchObject({ name: 'apply 3', attemptsMade: 0 });
  });

  test('never fails a job for having stalled, however often', async () => {
    const release = latch();
    let runs = 0;
    await producer.enqueue(sampleSubmission(1));
    const [{ id: jobId = '' } = {}] = await queue.getWaiting();
    await startWorker(url, {
      lockMs: 200,
      apply: each(async (_, { alone }) => {
        expect(alone).toBe(runs >= 2);
        runs += 1;
        if (runs === 5) release.open();
        // As if the process had gone: its lock is not renewed, and another worker finds it so.
        else await redis.del(queue.toKey(`${jobId}:lock`));
        await release.promise;
      }),
    });
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue), 10_000);
    expect(runs).toBe(5);
  });

  test('splits a group whose worker went away twice before anything of it is applied', async () => {
    const release = latch();
    const sizes: number[] = [];
    await Promise.all([1, 2, 3].map((n) => producer.enqueue(sampleSubmission(n))));
    const [{ id: jobId = '' } = {}] = await queue.getWaiting();
    await startWorker(url, {
      lockMs: 200,
      apply: async (submissions, { alone }) => {
        sizes.push(submissions.length);
        if (submissions.length > 1) {
          await redis.del(queue.toKey(`${jobId}:lock`));
          await release.promise;
        } else {
          expect(alone).toBe(true);
          release.open();
        }
        return submissions.map(() => ({ kind: 'settled' }));
      },
    });
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue), 10_000);
    expect(sizes).toEqual([3, 3, 1, 1, 1]);
  });

  test('leaves a job of a version that it does not know to a newer worker, says so, and never fails it', async () => {
    await producer.enqueue(sampleSubmission(1));
    await producer.enqueue(sampleSubmission(2));
    const [newer] = await queue.getWaiting(0, 0);
    await newer?.updateData({ ...(newer.data as object), v: 3 });
    const applied: string[] = [];
    logger.warn.mockClear();
    const worker = await startWorker(url, { apply: each(({ id }) => void applied.push(id)) });
    await vi.waitFor(() => expect(worker.progress()).toMatchObject({ unknownVersion: 3 }));
    expect(logger.warn).toHaveBeenCalledWith(
      { version: 3 },
      'jobs of a newer version wait for a newer worker',
    );
    await vi.waitFor(async () =>
      expect(await producer.counts()).toMatchObject({ active: 0, delayed: 0, failed: 0 }),
    );
    expect(await newer?.getState()).toBe('waiting');
    expect((await queue.getJob(newer?.id ?? ''))?.attemptsMade).toBe(0);
    // A worker that knows it.
    await newer?.updateData({ ...(newer.data as object), v: 2 });
    await vi.waitFor(() => expect(applied).toHaveLength(2), 10_000);
    await vi.waitFor(async () => expect(await producer.counts()).toMatchObject(emptyQueue));
  });

  test('paused takes no new jobs, keeps the locks of those it has, and resumes', async () => {
    const applying = latch();
    const apply = vi.fn(each(() => applying.promise));
    const worker = await startWorker(url, { lockMs: 300, apply });
    await producer.enqueue(sampleSubmission(1));
    await vi.waitFor(() => expect(worker.progress().active).toBe(1));
    const [{ id: jobId = '' } = {}] = await queue.getActive();
    worker.pause();
    // The fetch under way when it was paused may still bring one.
    await producer.enqueue(sampleSubmission(2));
    await producer.enqueue(sampleSubmission(3));
    const lock = queue.toKey(`${jobId}:lock`);
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
    const worker = await startWorker(url, { apply: each(() => applying.promise) });
    await producer.enqueue(sampleSubmission(1));
    await vi.waitFor(() => expect(worker.progress().active).toBe(1));
    await expect(worker.close({ timeoutMs: 50 })).rejects.toThrow(
      '1 leads were still being applied after 50 ms',
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
      apply: each(async ({ id }) => {
        await applying.promise;
        applied.add(id);
      }),
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
    const worker = await startWorker(proxy.url, { apply: each(() => {}) });
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
    const worker = await startWorker(server.url, { apply: each(() => {}) });
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
