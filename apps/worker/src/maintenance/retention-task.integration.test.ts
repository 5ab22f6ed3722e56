import { connectRedis } from '@leadgate/boot';
import { createReserver, openWorkspace } from '@leadgate/intake';
import {
  allowRetention,
  applyGroup,
  listSubmissions,
  openStore,
  refillSource,
  retentionStandings,
} from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { createLease } from './maintenance.ts';
import { createRefillTask } from './refill-task.ts';
import { createRetentionTask } from './retention-task.ts';
import {
  createCloses,
  makeWorkspace,
  producerUnderTest,
  workerUnderTest,
} from '../../test/worker.ts';

const closes = createCloses();
afterEach(closes.all);

/** A database and a Redis, and a look into both. */
async function servers() {
  const [database, redis] = await Promise.all([testDatabase(), testRedis()]);
  closes.add('database', database.drop);
  const store = openStore({ url: database.url, poolSize: 2 });
  closes.add('store', store.close);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  closes.add('client', () => client.end());
  return { store, client, databaseUrl: database.url, redisUrl: redis.url };
}

test('the first submission finds its month made, and one accepted before the retention goes', async () => {
  const { store, client, ...urls } = await servers();
  const producer = await producerUnderTest(urls.redisUrl, closes);
  const workspaceId = await makeWorkspace(store);

  const worker = async (env?: Record<string, string>) => {
    const { log, close } = await workerUnderTest(urls, env);
    const stop = vi.fn(close);
    closes.add('worker', () => (stop.mock.calls.length === 0 ? stop() : undefined));
    return { log, stop };
  };
  const first = await worker();
  const id = `${new Date().getTime().toString(16).padStart(12, '0')}`;
  const now = sampleSubmission(1, {
    workspaceId,
    id: `${id.slice(0, 8)}-${id.slice(8)}-7000-8000-000000000001`,
  });
  const old = sampleSubmission(2, { workspaceId, id: '015d3ef7-9800-7000-8000-000000000002' });
  await Promise.all([producer.enqueue(now), producer.enqueue(old)]);
  const stored = async () =>
    (await listSubmissions(store, {}, 10)).map(({ submissionId }) => submissionId).toSorted();
  await vi.waitFor(async () => expect(await stored()).toEqual([old.id, now.id]), 10_000);
  const { rows } = await client.query<{ place: string }>(
    'SELECT tableoid::regclass::text AS place FROM submission ORDER BY id',
  );
  const month = new Date().toISOString().slice(0, 7).replace('-', '_');
  expect(rows.map(({ place }) => place)).toEqual(['submission_past', `submission_${month}`]);
  await first.stop();

  // Its id is of 2017, and it was accepted now.
  const second = await worker({ RETENTION_DAYS: '30' });
  expect(await stored()).toEqual([old.id, now.id]);
  await second.stop();
  await client.query(
    `UPDATE submission SET applied_at = now() - interval '31 days' WHERE id = $1`,
    [old.id],
  );
  await worker({ RETENTION_DAYS: '30' });
  expect(await stored()).toEqual([now.id]);
});

test('a process whose clock is years ahead lets nothing go, nor a database that Redis disagrees with', async () => {
  const { store, client, redisUrl } = await servers();
  const redis = connectRedis(redisUrl, { role: 'admin' });
  closes.add('redis', () => redis.disconnect());
  const workspaceId = await makeWorkspace(store);
  const { id } = sampleSubmission(1);
  await client.query(
    `INSERT INTO submission (id, workspace_id, link_id, lead_id, "order", stamp, source, identities, lead, body, body_type)
     VALUES ($1, $2, $2, $2, 1, 1, 'post', '[]', '{}', '', 'json')`,
    [id, workspaceId],
  );
  const stored = async () => (await listSubmissions(store, {}, 10)).length;
  const task = createRetentionTask(store, redis, { submission: 365, rejected_submission: 30 }, 730);
  vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 425 * 86_400_000);
  await task.run();
  vi.restoreAllMocks();
  expect(await stored()).toBe(1);

  // Postgres's own clock cannot be moved here; Redis's answer can.
  const wrong = Object.create(redis, {
    time: { value: async () => (await redis.time()).map((n) => Number(n) + 3_600) },
  }) as typeof redis;
  const other = createRetentionTask(store, wrong, { submission: 1, rejected_submission: 30 }, 730);
  await expect(other.run()).rejects.toThrow('3600 seconds apart');
});

test('once an hour, and a minute after an attempt that failed, as workers wait behind each', async () => {
  const { store, client, redisUrl } = await servers();
  const redis = connectRedis(redisUrl, { role: 'admin' });
  closes.add('redis', () => redis.disconnect());
  let time = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => time);
  closes.add('spies', () => vi.restoreAllMocks());
  const task = createRetentionTask(store, redis, { submission: 30, rejected_submission: 30 }, 730);
  const horizon = async () => (await retentionStandings(store))[0]?.horizon?.getTime() ?? 0;
  expect((await task.run())?.['made']).not.toHaveLength(0);
  const first = await horizon();
  expect(first).toBeGreaterThan(0);
  await task.run();
  expect(await horizon()).toBe(first);
  time += 3_600_000;
  expect(await task.run()).toBeNull();
  expect(await horizon()).toBeGreaterThan(first);

  time += 3_600_000;
  await client.query(`UPDATE retention SET horizon = '2020-01-01'`);
  await expect(task.run()).rejects.toThrow('leadgate retention allow');
  expect(await task.run()).toBeNull();
  await allowRetention(store, 'submission', new Date());
  await allowRetention(store, 'rejected_submission', new Date());
  time += 60_000;
  await task.run();
  expect(await horizon()).toBeGreaterThan(first);
});

test('a workspace of which retention left no submission is not claimed on in an older Redis', async () => {
  const { store, client, redisUrl } = await servers();
  const redis = connectRedis(redisUrl, { role: 'admin' });
  closes.add('redis', () => redis.disconnect());
  const workspaceId = await makeWorkspace(store);
  await openWorkspace(redis, workspaceId);
  const reserve = (email: string) =>
    createReserver(redis).reserve({
      ...{ submissionId: randomUUID(), workspaceId, linkId: 'link', offeredLeadId: randomUUID() },
      ...{ identityKeys: [`email:${email}`], limits: [] },
    });
  // What a backup of this moment has, but for which Redis it is of.
  const state = `leadgate:{${workspaceId}}:state`;
  const backup = { ...(await redis.hgetall(state)), open: 'of the Redis before' };
  const ana = await reserve('ana@example.com');
  if (ana.kind !== 'reserved') throw new Error(ana.kind);
  const { leadId, identities, order } = ana;
  const submission = sampleSubmission(1, { workspaceId, leadId, identities, order, stamp: order });
  await applyGroup(store, [{ submission, replay: false }]);
  await client.query(`UPDATE submission SET applied_at = now() - interval '31 days'`);
  const retention = { submission: 30, rejected_submission: 30 };
  await createRetentionTask(store, redis, retention, 730).run();
  expect(await listSubmissions(store, {}, 10)).toEqual([]);

  await redis.flushdb();
  await redis.hset(state, backup);
  expect(await reserve('carol@example.com')).toEqual({ kind: 'behind' });
  await createRefillTask(
    redis,
    refillSource(store),
    createLease(redis, 'leadgate:upkeep', 5_000),
  ).run();
  const later = await reserve('ana@example.com');
  expect(later).toMatchObject({ kind: 'reserved', leadId });
  expect(later.kind === 'reserved' && later.order).toBeGreaterThan(order);
});
