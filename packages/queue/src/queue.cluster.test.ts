import { awaitRedis, connectRedis, type RedisRole } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import { sampleSubmission, startRedisCluster, type OwnCluster } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { startApplyWorker, type ApplyWorkerOptions } from './apply-worker.ts';
import { queueCounts, shardStandings } from './counts.ts';
import { openDashboardQueues } from './dashboard-queues.ts';
import { openFailedJobs } from './jobs.ts';
import { drainLeftOvers } from './left-over-shards.ts';
import { openProducer } from './producer.ts';
import { each, FAILED } from '../test/queue.ts';
import { pauseQueue, queueName, registerShards, resumeQueue } from './shards.ts';

const SHARDS = 6;
const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const closes: (() => unknown)[] = [];
let cluster: OwnCluster;

beforeAll(async () => void (cluster = await startRedisCluster()), 60_000);
beforeEach(() => cluster.flush());
afterEach(async () => {
  for (let close = closes.pop(); close !== undefined; close = closes.pop()) await close();
});
afterAll(() => cluster?.stop());

async function connect(role: Exclude<RedisRole, 'subscriber'>) {
  const redis = connectRedis(cluster.urls.join(','), { role });
  closes.push(() => redis.disconnect());
  await awaitRedis(redis);
  return redis;
}

async function produce(options: { waitReplicas?: number; shards?: number } = {}) {
  const producer = await openProducer(await connect('producer'), {
    logger,
    shards: SHARDS,
    ...options,
  });
  closes.push(() => producer.close());
  return producer;
}

async function work(options: Pick<ApplyWorkerOptions, 'apply'> & Partial<ApplyWorkerOptions>) {
  const worker = await startApplyWorker(await connect('worker'), {
    concurrency: 30,
    lockMs: 3_000,
    logger,
    ...options,
  });
  closes.push(() => worker.close({ timeoutMs: 10_000 }).catch(() => undefined));
  return worker;
}

const sample = (n: number): Submission => sampleSubmission(n, { leadId: randomUUID() });

test('shards are on different nodes, and leads of all of them are applied', async () => {
  const ports = new Set<number>();
  for (let shard = 0; shard < SHARDS; shard++)
    ports.add((await cluster.masterOf(queueName(shard))).port);
  expect(ports.size).toBe(3);

  const producer = await produce({ waitReplicas: 1 });
  const all = Array.from({ length: 120 }, (_, n) => sample(n));
  await Promise.all([
    ...all.slice(0, 60).map((one) => producer.enqueue(one)),
    ...all.slice(60, 90).map((one) => producer.enqueue(one, { background: true })),
    ...all.slice(90).map((one) => producer.replay(one, 'run')),
  ]);
  expect(await producer.counts()).toMatchObject({ waiting: 120, background: 60 });
  const applied: string[] = [];
  await work({ apply: each(({ id }) => void applied.push(id)) });
  await vi.waitFor(() => expect(applied).toHaveLength(120), 15_000);
  expect(new Set(applied).size).toBe(120);
});

test('fewer replicas than asked for are no success, whatever stands of it', async () => {
  const producer = await produce({ waitReplicas: 2 });
  const one = sample(1);
  await expect(producer.enqueue(one)).rejects.toThrow('1 of 2 replicas had it');
  await expect(producer.enqueue(one)).rejects.toThrow('1 of 2 replicas had it');
  // Nothing more is put in for as long as there are too few.
  expect(await producer.counts()).toMatchObject({ waiting: 1 });
  const other = { ...sample(2), leadId: one.leadId };
  await expect(producer.enqueue(other, { background: true })).rejects.toThrow('1 of 2');
  expect(await producer.counts()).toMatchObject({ waiting: 1 });
});

test('pausing, failed jobs, the dashboard and a smaller number of shards work across nodes', async () => {
  const admin = await connect('admin');
  await pauseQueue(admin);
  const producer = await produce();
  const all = Array.from({ length: 30 }, (_, n) => sample(n));
  await Promise.all(all.map((one) => producer.enqueue(one)));
  const worker = await work({ apply: each(() => FAILED) });
  expect(worker.progress()).toMatchObject({ active: 0 });
  const dashboard = openDashboardQueues(admin, { logger });
  closes.push(() => dashboard.close());
  const queues = await dashboard.current();
  expect(queues).toHaveLength(SHARDS);
  await resumeQueue(admin);
  await vi.waitFor(
    async () => {
      for (const queue of queues) for (const job of await queue.getDelayed()) await job.promote();
      expect(await queueCounts(admin)).toMatchObject({ failed: 30 });
    },
    { timeout: 30_000, interval: 20 },
  );
  await worker.close({ timeoutMs: 5_000 });
  await producer.close();
  for (let shard = 0; shard < SHARDS; shard++)
    await admin.hset('leadgate:shards', shard, Date.now() - 61_000);
  await registerShards(admin, [0, 1]);
  const round = await drainLeftOvers(admin, { waitReplicas: 1 });
  expect(round).toMatchObject({
    leftOvers: [{ gone: true }, { gone: true }, { gone: true }, { gone: true }],
  });
  const standings = await shardStandings(admin);
  expect(standings.map(({ shard }) => shard)).toEqual([0, 1]);
  expect(standings.reduce((sum, { failed }) => sum + failed, 0)).toBe(30);

  const failed = openFailedJobs(admin);
  closes.push(() => failed.close());
  const applied: string[] = [];
  await work({ apply: each(({ id }) => void applied.push(id)) });
  for await (const page of failed.pages('oldest-first'))
    for (const { jobId } of page) expect(await failed.retry(jobId)).toBe(true);
  await vi.waitFor(() => expect(applied).toHaveLength(30), 15_000);
}, 90_000);

test('a master is killed under load: what was put in is applied, and workers go on by themselves', async () => {
  const producer = await produce({ waitReplicas: 1 });
  const accepted = new Set<string>();
  const applied = new Set<string>();
  await work({ apply: each(({ id }) => void applied.add(id)) });

  let stopped = false;
  let n = 0;
  const post = async () => {
    while (!stopped) {
      const one = sample(n++);
      try {
        await producer.enqueue(one);
        accepted.add(one.id);
      } catch {
        // Its sender hears 503.
      }
      await delay(2);
    }
  };
  const posting = Promise.all([post(), post(), post(), post()]);
  const master = await cluster.masterOf(queueName(1));
  await vi.waitFor(() => expect(accepted.size).toBeGreaterThan(100), 10_000);
  await master.kill();
  await expect
    .poll(async () => (await cluster.masterOf(queueName(1))).port, { timeout: 20_000 })
    .not.toBe(master.port);
  // Its replica has none of its own: until the master is back, only the other nodes' leads are safe.
  const more = async (count: number) => {
    const before = accepted.size;
    await vi.waitFor(() => expect(accepted.size).toBeGreaterThan(before + count), 20_000);
  };
  await more(20);
  await master.restart();
  await cluster.settle();
  await more(200);
  stopped = true;
  await posting;
  await vi.waitFor(
    () => {
      const lost = [...accepted].filter((id) => !applied.has(id));
      expect(lost).toEqual([]);
    },
    { timeout: 40_000, interval: 200 },
  );
}, 120_000);
