import { listSubmissions, openStore } from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import {
  createCloses,
  makeWorkspace,
  producerUnderTest,
  workerUnderTest,
} from '../worker-under-test.ts';

const closes = createCloses();
afterEach(closes.all);

test('the first submission finds its month made, and one older than the retention goes', async () => {
  const [database, redis] = await Promise.all([testDatabase(), testRedis()]);
  closes.add('database', database.drop);
  const store = openStore({ url: database.url, poolSize: 2 });
  closes.add('store', store.close);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  closes.add('client', () => client.end());
  const producer = await producerUnderTest(redis.url, closes);
  const workspaceId = await makeWorkspace(store);
  const servers = { databaseUrl: database.url, redisUrl: redis.url };

  const worker = async (env?: Record<string, string>) => {
    const { log, close } = await workerUnderTest(servers, env);
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

  await worker({ RETENTION_DAYS: '30' });
  expect(await stored()).toEqual([now.id]);
});
