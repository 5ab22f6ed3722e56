import { awaitRedis, connectRedis } from '@leadgate/boot';
import { startApplyWorker, type Producer } from '@leadgate/queue';
import {
  applyGroup,
  failureOf,
  findLeads,
  listSubmissions,
  migrate,
  openStore,
  showSubmission,
  type Store,
} from '@leadgate/store';
import {
  sampleSubmission,
  startPostgresServer,
  startRedisServer,
  startSilentProxy,
  testDatabase,
  testRedis,
  type OwnServer,
  untilBlocked,
} from '@leadgate/testkit';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { createGroupCommit } from './group-commit.ts';
import { createCloses, makeWorkspace, producerUnderTest, workerUnderTest } from '../test/worker.ts';

const closes = createCloses();
afterEach(closes.all);

const queueIs = (producer: Producer, counts: object) =>
  vi.waitFor(async () => expect(await producer.counts()).toMatchObject(counts), 15_000);
const nothingLeft = { waiting: 0, active: 0, delayed: 0, failed: 0 };
const isAway = (worker: { log: () => string }) =>
  vi.waitFor(() => expect(worker.log()).toContain('Postgres is away; jobs wait'), 10_000);
/** In jobs of ten at most. */
const enqueue = async (producer: Producer, from: number, count: number) => {
  for (let n = 0; n < count; n += 10)
    await Promise.all(
      Array.from({ length: Math.min(10, count - n) }, (_, m) =>
        producer.enqueue(sampleSubmission(from + n + m)),
      ),
    );
};

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
    expect(active).toBeLessThanOrEqual(30);

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

describe('a Postgres that answers and does not let the worker work', () => {
  let postgres: OwnServer;
  beforeAll(async () => {
    postgres = await startPostgresServer({ settings: { max_connections: '20' } });
    await migrate(postgres.url, { directory: 'prisma/migrations' });
  });
  afterAll(() => postgres.stop());

  async function open() {
    const redis = await testRedis();
    const producer = await producerUnderTest(redis.url, closes);
    const worker = await workerUnderTest({ databaseUrl: postgres.url, redisUrl: redis.url });
    closes.add('worker', worker.close);
    const store = openStore({ url: postgres.url, poolSize: 1 });
    closes.add('store', store.close);
    const admin = await connect();
    closes.add('admin', () => admin.end());
    const get = (path: string) => fetch(`http://127.0.0.1:${worker.port}${path}`);
    return { producer, worker, store, admin, get };
  }

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: postgres.url,
      options: '-c default_transaction_read_only=off',
    });
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  test('as it is read-only: jobs wait unspent, /ready says so, and they are applied when it is not', async () => {
    const { producer, worker, store, admin, get } = await open();
    await admin.query('ALTER SYSTEM SET default_transaction_read_only = on');
    await admin.query('SELECT pg_reload_conf()');
    await vi.waitFor(async () => expect((await get('/ready')).status).toBe(503), 5_000);
    await enqueue(producer, 1_000, 20);
    await isAway(worker);
    expect((await get('/live')).status).toBe(200);

    await admin.query('ALTER SYSTEM RESET default_transaction_read_only');
    await admin.query('SELECT pg_reload_conf()');
    await queueIs(producer, nothingLeft);
    expect(worker.log()).not.toContain('attempt failed');
    expect(await showSubmission(store, sampleSubmission(1_019).id)).not.toBeNull();
    await vi.waitFor(async () => expect((await get('/ready')).status).toBe(200), 5_000);
  });

  test('as it has no connection left: jobs wait unspent, and are applied when it has', async () => {
    const { producer, worker, store, admin } = await open();
    const crowd: pg.Client[] = [];
    const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'leadgate'`;
    await enqueue(producer, 2_000, 20);
    await vi.waitFor(
      async () => {
        await admin.query(cut);
        for (;;) {
          const client = await connect().catch(() => null);
          if (client === null) break;
          crowd.push(client);
        }
        await enqueue(producer, 2_020 + crowd.length, 1);
        expect(worker.log()).toContain('Postgres is away; jobs wait');
      },
      { timeout: 15_000, interval: 100 },
    );
    await Promise.all(crowd.map((client) => client.end()));
    await queueIs(producer, nothingLeft);
    expect(worker.log()).not.toContain('attempt failed');
    expect(await showSubmission(store, sampleSubmission(2_019).id)).not.toBeNull();
  });

  test('as it is restarted in the middle of a transaction: that one is run again, unspent', async () => {
    const { producer, worker, store, admin } = await open();
    await admin.query('BEGIN');
    await admin.query('LOCK TABLE lead IN EXCLUSIVE MODE');
    await enqueue(producer, 3_000, 20);
    await untilBlocked(admin);
    // Its fast shutdown.
    await postgres.kill('SIGINT');
    await isAway(worker);
    await postgres.restart();
    await queueIs(producer, nothingLeft);
    expect(worker.log()).not.toContain('attempt failed');
    expect(await showSubmission(store, sampleSubmission(3_019).id)).not.toBeNull();
  });
});

test('a worker whose transaction does not get on while jobs wait is not alive, and is again once it does', async () => {
  const [database, redis] = await Promise.all([testDatabase(), testRedis()]);
  closes.add('database', database.drop);
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  closes.add('admin', () => admin.end());
  const producer = await producerUnderTest(redis.url, closes);
  const worker = await workerUnderTest(
    { databaseUrl: database.url, redisUrl: redis.url },
    { LIVENESS_WINDOW_MS: '500' },
  );
  closes.add('worker', worker.close);
  const live = async () => (await fetch(`http://127.0.0.1:${worker.port}/live`)).status;

  await admin.query('BEGIN');
  await admin.query('LOCK TABLE lead IN EXCLUSIVE MODE');
  await enqueue(producer, 0, 5);
  await vi.waitFor(async () => expect(await live()).toBe(503), 5_000);
  await admin.query('ROLLBACK');
  await queueIs(producer, nothingLeft);
  expect(await live()).toBe(200);
});

test.each(['redisUrl', 'databaseUrl'] as const)(
  'a worker that is cut off from its server (%s) without a word is not alive though others are answered, and is again once it is',
  async (which) => {
    const [database, redis] = await Promise.all([testDatabase(), testRedis()]);
    closes.add('database', database.drop);
    const servers = { databaseUrl: database.url, redisUrl: redis.url };
    const proxy = await startSilentProxy(servers[which]);
    closes.add('proxy', proxy.close);
    const producer = await producerUnderTest(redis.url, closes);
    const worker = await workerUnderTest(
      { ...servers, [which]: proxy.url },
      { LIVENESS_WINDOW_MS: '1000' },
    );
    closes.add('worker', worker.close);
    const live = async () => (await fetch(`http://127.0.0.1:${worker.port}/live`)).status;
    await enqueue(producer, 0, 5);
    await queueIs(producer, nothingLeft);
    expect(await live()).toBe(200);

    proxy.silence();
    proxy.admit();
    await enqueue(producer, 5, 5);
    await vi.waitFor(async () => expect(await live()).toBe(503), { timeout: 10_000, interval: 50 });
    await queueIs(producer, nothingLeft);
    expect(await live()).toBe(200);
  },
  40_000,
);

test('a worker whose Redis is full is not ready, says what to do, stays alive, and goes on once there is room', async () => {
  const [database, redis] = await Promise.all([testDatabase(), startRedisServer()]);
  closes.add('database', database.drop);
  closes.add('redis server', redis.stop);
  const producer = await producerUnderTest(redis.url, closes);
  const admin = connectRedis(redis.url, { role: 'admin' });
  closes.add('admin redis', () => admin.disconnect());
  await enqueue(producer, 0, 20);
  await admin.config('SET', 'maxmemory', '1');
  const worker = await workerUnderTest(
    { databaseUrl: database.url, redisUrl: redis.url },
    { LIVENESS_WINDOW_MS: '500' },
  );
  closes.add('worker', worker.close);
  const get = (path: string) => fetch(`http://127.0.0.1:${worker.port}${path}`);

  await vi.waitFor(async () => {
    const ready = await get('/ready');
    expect(ready.status).toBe(503);
    expect(await ready.json()).toMatchObject({ redis: 'full: raise maxmemory' });
  }, 10_000);
  expect(worker.log()).toContain('raise maxmemory');
  expect((await get('/live')).status).toBe(200);

  await admin.config('SET', 'maxmemory', '0');
  await queueIs(producer, nothingLeft);
  await vi.waitFor(async () => expect((await get('/ready')).status).toBe(200), 15_000);
  expect(worker.log()).not.toContain('attempt failed');
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
      const { applied } = await applyGroup(store, items);
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
    logger: { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() },
    lockMs: 500,
    // Each by itself, so that some are committed before Redis goes and some after.
    apply: (submissions) =>
      groups.add(
        submissions.map((submission) => ({ submission, replay: false })),
        { alone: true },
      ),
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
