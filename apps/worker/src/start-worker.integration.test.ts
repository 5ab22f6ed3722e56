import { awaitRedis, connectRedis, StartError } from '@leadgate/boot';
import { createReserver, directoryRevision as revisionInRedis } from '@leadgate/intake';
import { LINK_DEFAULTS, type Submission } from '@leadgate/contract';
import type { Producer } from '@leadgate/queue';
import {
  createLink,
  directoryRevision,
  findLeads,
  listHeld,
  listSubmissions,
  openStore,
  showSubmission,
  type Store,
} from '@leadgate/store';
import { sampleSubmission, startRedisServer, testDatabase, testRedis } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import pg from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { createCloses, makeWorkspace, producerUnderTest, workerUnderTest } from '../test/worker.ts';

const closes = createCloses();
afterEach(closes.all);

let servers: { databaseUrl: string; redisUrl: string };
let flush: () => Promise<void>;
let store: Store;
let producer: Producer;
let workspaceId: string;
let redisServer: Awaited<ReturnType<typeof testRedis>>;
beforeAll(async () => void (redisServer = await testRedis()));
beforeEach(async () => {
  const redis = redisServer;
  const [database] = await Promise.all([testDatabase(), redis.flush()]);
  closes.add('database', database.drop);
  servers = { databaseUrl: database.url, redisUrl: redis.url };
  flush = redis.flush;
  store = openStore({ url: database.url, poolSize: 2 });
  closes.add('store', store.close);
  producer = await producerUnderTest(redis.url, closes);
  workspaceId = await makeWorkspace(store);
});

async function start(env?: Record<string, string>) {
  const worker = await workerUnderTest(servers, env);
  closes.add('worker', worker.close);
  return worker;
}

const sample = (n: number, change: Partial<Submission> = {}) =>
  sampleSubmission(n, { workspaceId, ...change });
const samples = (count: number) => Array.from({ length: count }, (_, n) => sample(n));
const enqueueAll = (submissions: ReturnType<typeof samples>) =>
  Promise.all(submissions.map((one) => producer.enqueue(one)));
const queueIs = (counts: object) =>
  vi.waitFor(async () => expect(await producer.counts()).toMatchObject(counts), 10_000);
const nothingLeft = { waiting: 0, active: 0, delayed: 0, failed: 0 };

describe('a worker', () => {
  test('applies every submission of a burst once, in few transactions', async () => {
    const submissions = samples(300);
    await enqueueAll(submissions);
    const worker = await start({ WORKER_GROUP_SIZE: '100' });
    await queueIs(nothingLeft);
    const stored = await listSubmissions(store, {}, 1_000);
    expect(stored.map((one) => one.submissionId).toSorted()).toEqual(
      submissions.map((one) => one.id).toSorted(),
    );
    expect(await findLeads(store, { name: 'Maria' }, 1_000)).toHaveLength(300);
    expect(worker.log().match(/"group applied"/g)?.length).toBeLessThan(60);
  });

  test('keeps what was caught as spam aside, once, and applies what came with it', async () => {
    const held = sample(1, {
      identities: [],
      held: { reason: 'honeypot', keys: ['email:spam@example.com'] },
    });
    await enqueueAll([held, sample(2)]);
    const worker = await start();
    await queueIs(nothingLeft);
    await enqueueAll([held]);
    await queueIs(nothingLeft);
    expect(await listHeld(store, { workspaceId }, 10)).toMatchObject([
      { heldId: held.id, reason: 'honeypot', answeredLeadId: held.leadId },
    ]);
    expect((await listSubmissions(store, {}, 10)).map((one) => one.submissionId)).toEqual([
      sample(2).id,
    ]);
    expect(worker.log()).not.toContain('spam@example.com');
  });

  test('applies a submission that is enqueued again no second time', async () => {
    const [submission] = samples(1);
    await start();
    await enqueueAll(samples(1));
    await queueIs(nothingLeft);
    const [before] = await findLeads(store, { email: 'maria.silva.0@example.com' }, 2);
    await enqueueAll(samples(1));
    await queueIs(nothingLeft);
    expect(await findLeads(store, { email: 'maria.silva.0@example.com' }, 2)).toEqual([before]);
    expect(before?.leadId).toBe(submission?.leadId);
  });

  test('fails a poison submission alone, with its reason, and applies all that came with it', async () => {
    const poison = sample(1_000, { identities: [{ key: 'email:x', owner: 'not-a-uuid' }] });
    const submissions = samples(40);
    await enqueueAll([...submissions.slice(0, 20), poison, ...submissions.slice(20)]);
    const worker = await start();
    await queueIs({ waiting: 0, active: 0, delayed: 1 });
    expect(await listSubmissions(store, {}, 100)).toHaveLength(40);
    expect(await showSubmission(store, poison.id)).toBeNull();
    expect(worker.log()).toContain('"failure":"data"');
    expect(worker.log()).toContain(poison.id);
  });

  test('of a full group with one poison applies all others, and that one fails alone under its own id', async () => {
    const poison = sample(1_000, { identities: [{ key: 'email:x', owner: 'not-a-uuid' }] });
    const others = samples(199);
    await enqueueAll([...others.slice(0, 77), poison, ...others.slice(77)]);
    const redis = connectRedis(servers.redisUrl, { role: 'admin' });
    closes.add('redis', () => redis.disconnect());
    await awaitRedis(redis);
    expect(await redis.llen('leadgate:{leads-0}:wait')).toBe(1);
    await start();
    await queueIs({ waiting: 0, active: 0, delayed: 1 });
    expect(await listSubmissions(store, {}, 1_000)).toHaveLength(199);
    expect(await showSubmission(store, poison.id)).toBeNull();
    expect(await redis.zrange('leadgate:{leads-0}:delayed', '0', '-1')).toEqual([poison.id]);
  });

  test('that has a group at the same time as another worker applies each of it once', async () => {
    const redis = connectRedis(servers.redisUrl, { role: 'admin' });
    closes.add('redis', () => redis.disconnect());
    await awaitRedis(redis);
    const admin = new pg.Client({ connectionString: servers.databaseUrl });
    await admin.connect();
    closes.add('admin', () => admin.end());
    await admin.query('BEGIN');
    await admin.query('LOCK TABLE lead IN EXCLUSIVE MODE');
    await enqueueAll(samples(50));
    const workers = [await start({ JOB_LOCK_MS: '500' })];
    const active = 'leadgate:{leads-0}:active';
    await vi.waitFor(async () => expect(await redis.llen(active)).toBe(1), 5_000);
    const [jobId = ''] = await redis.lrange(active, 0, -1);
    workers.push(await start({ JOB_LOCK_MS: '500' }));
    // As if the first one had stood still: the other one takes what it has.
    await redis.del(`leadgate:{leads-0}:${jobId}:lock`);
    await vi.waitFor(
      async () => expect(await redis.hget(`leadgate:{leads-0}:${jobId}`, 'stc')).toBe('1'),
      { timeout: 10_000, interval: 20 },
    );
    await admin.query('ROLLBACK');
    await queueIs(nothingLeft);
    expect(await listSubmissions(store, {}, 1_000)).toHaveLength(50);
    expect(await findLeads(store, { name: 'Maria' }, 1_000)).toHaveLength(50);
  });

  test('that is stopped while a group is half settled puts the whole job back, and the next one does the rest', async () => {
    const poison = sample(1_000, { identities: [{ key: 'email:x', owner: 'not-a-uuid' }] });
    const all = [...samples(30), poison];
    const admin = new pg.Client({ connectionString: servers.databaseUrl });
    await admin.connect();
    closes.add('admin', () => admin.end());
    await enqueueAll(all);
    const first = await start({
      ...{ WORKER_GROUP_SIZE: '5', WORKER_GROUPS: '1', SHUTDOWN_TIMEOUT_MS: '200' },
    });
    await vi.waitFor(() => expect(first.log()).toContain('group applied'), { interval: 1 });
    // The rest of the group waits for a lock that outlasts the worker.
    await admin.query('BEGIN');
    await admin.query('LOCK TABLE lead IN EXCLUSIVE MODE');
    const half = await listSubmissions(store, {}, 1_000);
    expect(half.length).toBeLessThan(30);
    await first.close().catch(() => undefined);
    expect(await producer.counts()).toMatchObject({ ...nothingLeft, waiting: all.length });
    await admin.query('ROLLBACK');
    await start();
    await queueIs({ ...nothingLeft, delayed: 1 });
    expect(await listSubmissions(store, {}, 1_000)).toHaveLength(30);
  });

  test('writes no personal data to its log, whatever happens', async () => {
    await enqueueAll([
      ...samples(3),
      sample(9, { identities: [{ key: 'email:x', owner: 'maria.silva.9@example.com' }] }),
    ]);
    const worker = await start();
    await queueIs({ waiting: 0, active: 0, delayed: 1 });
    expect(worker.log()).toContain('submission applied');
    expect(worker.log()).not.toMatch(/maria|@example|5511980000|203\.0\.113/i);
  });

  test('stopped in the middle of a burst loses nothing, and the next one does the rest', async () => {
    const submissions = samples(400);
    for (let n = 0; n < 400; n += 10) await enqueueAll(submissions.slice(n, n + 10));
    const first = await start({ WORKER_CONCURRENCY: '20', WORKER_GROUP_SIZE: '5' });
    await vi.waitFor(() => expect(first.log()).toContain('group applied'), { interval: 1 });
    await first.close();
    const { waiting, active, delayed, failed } = await producer.counts();
    expect({ active, delayed, failed }).toEqual({ active: 0, delayed: 0, failed: 0 });
    expect(waiting).toBeGreaterThan(0);
    expect(await listSubmissions(store, {}, 1_000)).toHaveLength(400 - waiting);
    await start();
    await queueIs(nothingLeft);
    expect(await listSubmissions(store, {}, 1_000)).toHaveLength(400);
  });

  test('two at once share the work, and every submission is applied once', async () => {
    // Every person twice: the groups of the two meet on the same leads.
    const submissions = samples(200).flatMap((one, n) => [
      one,
      sample(n, {
        id: randomUUID(),
        order: one.order + 1_000,
        identities: one.identities,
      }),
    ]);
    await enqueueAll(submissions);
    await Promise.all([start({ WORKER_GROUP_SIZE: '20' }), start({ WORKER_GROUP_SIZE: '20' })]);
    await queueIs(nothingLeft);
    expect(await listSubmissions(store, {}, 1_000)).toHaveLength(400);
    expect(await findLeads(store, { name: 'Maria' }, 1_000)).toHaveLength(200);
  });

  test('answers /live and /ready, and nothing else', async () => {
    const { port } = await start();
    const get = (path: string) => fetch(`http://127.0.0.1:${port}${path}`);
    const [live, ready, other] = await Promise.all([get('/live'), get('/ready'), get('/')]);
    expect([live.status, ready.status, other.status]).toEqual([200, 200, 404]);
    expect(await live.json()).toMatchObject({ kind: 'alive', active: 0 });
    expect(await ready.json()).toMatchObject({ redis: 'ok', postgres: 'ok' });
  });
});

describe('the maintenance', () => {
  test('brings links and identities back to a Redis that was emptied', async () => {
    await makeLink(workspaceId);
    const redis = connectRedis(servers.redisUrl, { role: 'admin' });
    closes.add('redis', () => redis.disconnect());
    await awaitRedis(redis);
    await start();
    const revision = await directoryRevision(store);
    const isRefilled = () =>
      vi.waitFor(async () => expect(await revisionInRedis(redis)).toBe(revision), 5_000);
    await isRefilled();

    const leadId = randomUUID();
    const ana = sample(1, { leadId });
    await producer.enqueue(ana);
    await queueIs(nothingLeft);
    await flush();
    await isRefilled();

    const reserver = createReserver(redis);
    await vi.waitFor(async () => {
      const reservation = await reserver.reserve({
        submissionId: randomUUID(),
        workspaceId,
        linkId: ana.linkId,
        offeredLeadId: randomUUID(),
        identityKeys: ['email:maria.silva.1@example.com'],
        limits: [],
      });
      expect(reservation).toMatchObject({ kind: 'reserved', leadId });
      if (reservation.kind === 'reserved') expect(reservation.order).toBeGreaterThan(ana.order);
    }, 5_000);
  });

  test('follows a link that changes in Postgres only', async () => {
    await makeLink(workspaceId);
    const redis = connectRedis(servers.redisUrl, { role: 'admin' });
    closes.add('redis', () => redis.disconnect());
    await awaitRedis(redis);
    const worker = await start();
    await vi.waitFor(async () => expect(await revisionInRedis(redis)).not.toBeNull(), 5_000);
    await makeLink(workspaceId);
    const revision = await directoryRevision(store);
    await vi.waitFor(async () => expect(await revisionInRedis(redis)).toBe(revision), 5_000);
    expect(worker.log()).toContain('"task":"refill"');
  });

  async function makeLink(workspaceId: string): Promise<void> {
    const created = await createLink(store, workspaceId, {
      ...LINK_DEFAULTS,
      expiresAt: null,
    });
    expect(created.kind).toBe('created');
  }
});

describe('a worker does not start, and says why in a sentence', () => {
  const refusal = async (change: Partial<typeof servers>, env: Record<string, string> = {}) => {
    const error = await workerUnderTest({ ...servers, ...change }, env).catch((e: unknown) => e);
    expect(error).toBeInstanceOf(Error);
    return error as Error;
  };

  test('on a Redis that may throw leads away', async () => {
    const server = await startRedisServer({ settings: { 'maxmemory-policy': 'allkeys-lru' } });
    closes.add('own redis', server.stop);
    const error = await refusal({ redisUrl: server.url });
    expect(error).toBeInstanceOf(StartError);
    expect(error.message).toMatch(
      /maxmemory-policy allkeys-lru.*set maxmemory-policy to noeviction/,
    );
  });

  test('on a Postgres that is not there, without its password', async () => {
    const error = await refusal({ databaseUrl: 'postgresql://me:hunter2@127.0.0.1:1/leads' });
    expect(error).toBeInstanceOf(StartError);
    expect(error.message).toMatch(
      /^Postgres cannot be used at 127\.0\.0\.1:1\/leads \(.+\): start it/,
    );
    expect(error.message).not.toContain('hunter2');
  });

  test('on a Postgres without its tables', async () => {
    const url = new URL(servers.databaseUrl);
    url.pathname = '/postgres';
    const error = await refusal({ databaseUrl: url.href });
    expect(error.message).toMatch(/apply the migrations first/);
  });

  test('on a port that is taken', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    closes.add('other', () => other.close());
    const address = other.address();
    const port = typeof address === 'object' ? address?.port : undefined;
    const error = await refusal({}, { WORKER_PORT: String(port) });
    expect(error).toMatchObject({ code: 'EADDRINUSE', port });
  });

  test('with a setting that is no number', async () => {
    const error = await refusal({}, { WORKER_CONCURRENCY: 'many' });
    expect(error.message).toMatch(/WORKER_CONCURRENCY \(how many leads the worker holds at once/);
  });
});
