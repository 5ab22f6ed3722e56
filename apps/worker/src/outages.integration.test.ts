import { awaitRedis, connectRedis } from '@leadgate/boot';
import { applySubmissions, emptyLead, resolveCustomFields } from '@leadgate/leads';
import { startApplyWorker, type Producer } from '@leadgate/queue';
import {
  applyGroup,
  failureOf,
  findLeads,
  listSubmissions,
  migrate,
  openStore,
  type Store,
} from '@leadgate/store';
import {
  sampleSubmission,
  startPostgresServer,
  startRedisServer,
  testDatabase,
  testRedis,
  type OwnServer,
} from '@leadgate/testkit';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createGroupCommit } from './groups/group-commit.ts';
import {
  createCloses,
  makeWorkspace,
  producerUnderTest,
  workerUnderTest,
} from './worker-under-test.ts';

const closes = createCloses();
afterEach(closes.all);

const queueIs = (producer: Producer, counts: object) =>
  vi.waitFor(async () => expect(await producer.counts()).toMatchObject(counts), 15_000);
const nothingLeft = { waiting: 0, active: 0, delayed: 0, failed: 0 };
const enqueue = (producer: Producer, from: number, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, n) => producer.enqueue(sampleSubmission(from + n))),
  );

describe('while Postgres is killed', () => {
  let postgres: OwnServer;
  let store: Store;
  beforeAll(async () => {
    postgres = await startPostgresServer();
    await migrate(postgres.url, { directory: 'prisma/migrations' });
  });
  afterAll(() => postgres.stop());

  async function open() {
    const redis = await testRedis();
    const producer = await producerUnderTest(redis.url, closes);
    store = openStore({ url: postgres.url, poolSize: 1 });
    closes.add('store', store.close);
    const servers = { databaseUrl: postgres.url, redisUrl: redis.url };
    return { producer, servers };
  }

  test('jobs wait, spend no attempt, and are applied once it is back', async () => {
    const { producer, servers } = await open();
    const worker = await workerUnderTest(servers, { WORKER_CONCURRENCY: '20' });
    closes.add('worker', worker.close);
    await enqueue(producer, 0, 50);
    await queueIs(producer, nothingLeft);

    await postgres.kill();
    await enqueue(producer, 50, 50);
    await vi.waitFor(() => expect(worker.log()).toContain('Postgres is away; jobs wait'), 5_000);
    const health = (path: string) => fetch(`http://127.0.0.1:${worker.port}${path}`);
    expect((await health('/ready')).status).toBe(503);
    expect((await health('/live')).status).toBe(200);
    const { waiting, active, delayed, failed } = await producer.counts();
    expect({ all: waiting + active, delayed, failed }).toEqual({ all: 50, delayed: 0, failed: 0 });
    // It takes no more than it can hold.
    expect(active).toBeLessThanOrEqual(21);

    await postgres.restart();
    await queueIs(producer, nothingLeft);
    expect(await listSubmissions(store, {}, 1_000)).toHaveLength(100);
    expect(worker.log()).not.toContain('attempt failed');
    expect(worker.log().match(/Postgres is away/g)).toHaveLength(1);
    expect((await health('/ready')).status).toBe(200);
  });

  test('a worker that is stopped gives its jobs back, unspent', async () => {
    const { producer, servers } = await open();
    const worker = await workerUnderTest(servers);
    closes.add('worker', worker.close);
    await postgres.kill();
    await enqueue(producer, 200, 30);
    await vi.waitFor(() => expect(worker.log()).toContain('Postgres is away; jobs wait'), 5_000);
    await worker.close();
    expect(await producer.counts()).toMatchObject({ ...nothingLeft, waiting: 30 });
    expect(worker.log()).not.toContain('attempt failed');

    await postgres.restart();
    const next = await workerUnderTest(servers);
    closes.add('next worker', next.close);
    await queueIs(producer, nothingLeft);
    expect(await listSubmissions(store, {}, 1_000)).toHaveLength(130);
  });
});

test('a job whose worker loses Redis between commit and completion runs again and changes nothing', async () => {
  const [database, redis] = await Promise.all([testDatabase(), startRedisServer()]);
  closes.add('database', database.drop);
  closes.add('redis server', redis.stop);
  const store = openStore({ url: database.url, poolSize: 2 });
  closes.add('store', store.close);
  const producer = await producerUnderTest(redis.url, closes);
  const workspaceId = await makeWorkspace(store);
  await Promise.all([0, 1, 2].map((n) => producer.enqueue(sampleSubmission(n, { workspaceId }))));

  const outcomes: string[] = [];
  const groups = createGroupCommit({
    commit: async (items) => {
      const rules = { emptyLead, applySubmissions, resolveCustomFields };
      const { applied } = await applyGroup(store, items, rules);
      // Committed, and now nobody can be told.
      if (outcomes.length === 0) await redis.kill();
      outcomes.push(...applied.map((one) => one.outcome));
    },
    failureOf,
    maxGroupSize: 10,
    maxGroups: 1,
    onOutage: () => {},
    wait: (ms, signal) => delay(ms, undefined, { signal }),
    logger: { warn: vi.fn(), error: vi.fn() },
  });
  const jobsRedis = connectRedis(redis.url, { role: 'worker' });
  closes.add('jobs redis', () => jobsRedis.disconnect());
  await awaitRedis(jobsRedis);
  const jobs = await startApplyWorker(jobsRedis, {
    concurrency: 10,
    logger: { debug: vi.fn(), warn: vi.fn(), error: vi.fn() },
    lockMs: 500,
    // Each by itself, so that some are committed before Redis goes and some after.
    apply: (submission) => groups.add({ submission, replay: false }, { alone: true }),
  });
  closes.add('jobs', () => jobs.close({ timeoutMs: 2_000 }));
  await vi.waitFor(() => expect(outcomes.length).toBeGreaterThan(0), 5_000);
  const leads = await findLeads(store, { name: 'Maria' }, 10);
  expect(leads.length).toBeGreaterThan(0);
  await redis.restart();

  await queueIs(producer, nothingLeft);
  expect(outcomes.filter((outcome) => outcome === 'created')).toHaveLength(3);
  expect(await listSubmissions(store, {}, 10)).toHaveLength(3);
  expect(await findLeads(store, { name: 'Maria' }, 10)).toEqual(expect.arrayContaining(leads));
});
