import { connectRedis, createLogger } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import { openDashboardQueues, type Producer } from '@leadgate/queue';
import { findLeads, listSubmissions, openStore, showSubmission, type Store } from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { createCloses, makeWorkspace, producerUnderTest, workerUnderTest } from '../test/worker.ts';

const closes = createCloses();
afterEach(closes.all);

const queueIs = (producer: Producer, counts: object) =>
  vi.waitFor(async () => expect(await producer.counts()).toMatchObject(counts), 10_000);
const nothingLeft = { waiting: 0, active: 0, delayed: 0, failed: 0 };

/** Whatever Postgres refuses of one person, with that person's data in its message. */
const POISON = `
  CREATE FUNCTION refuse_one() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.lead->>'email' = 'maria.silva.13@example.com' THEN
      RAISE EXCEPTION 'no %, never', NEW.lead->>'email' USING ERRCODE = 'data_exception';
    END IF;
    RETURN NEW;
  END $$;
  CREATE TRIGGER refuse_one BEFORE INSERT ON submission FOR EACH ROW EXECUTE FUNCTION refuse_one()`;

test('a poison submission fails alone after its attempts, is kept with a reason that tells nobody, and is applied once it can be', async () => {
  const [database, redis] = await Promise.all([testDatabase(), testRedis()]);
  closes.add('database', database.drop);
  const store: Store = openStore({ url: database.url, poolSize: 2 });
  closes.add('store', store.close);
  const producer = await producerUnderTest(redis.url, closes);
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  closes.add('admin', () => admin.end());
  await admin.query(POISON);
  const connection = connectRedis(redis.url, { role: 'admin' });
  closes.add('admin redis', () => connection.disconnect());
  const queues = openDashboardQueues(connection, {
    logger: createLogger({ name: 'test', level: 'silent' }),
  });
  closes.add('queues', () => queues.close());
  const [queue] = await queues.current();

  const workspaceId = await makeWorkspace(store);
  const sample = (n: number, change: Partial<Submission> = {}) =>
    sampleSubmission(n, { workspaceId, ...change });
  const poison = sample(13);
  const others = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => sample(n));
  await Promise.all(
    [...others.slice(0, 5), poison, ...others.slice(5)].map((one) => producer.enqueue(one)),
  );
  const worker = await workerUnderTest({ databaseUrl: database.url, redisUrl: redis.url });
  closes.add('worker', worker.close);

  // Its attempts come seconds apart; nobody has to wait for them here.
  for (let attempt = 1; attempt < 5; attempt++) {
    await queueIs(producer, { waiting: 0, active: 0, delayed: 1 });
    expect(await listSubmissions(store, {}, 100)).toHaveLength(10);
    await (await queue?.getJob(poison.id))?.promote();
  }
  await queueIs(producer, { ...nothingLeft, failed: 1 });
  const job = await queue?.getJob(poison.id);
  expect(job?.attemptsMade).toBe(5);
  expect(job?.failedReason).toBe('Postgres refused the data (22000)');
  expect(JSON.stringify([job?.failedReason, job?.stacktrace, worker.log()])).not.toMatch(
    /maria|@example/,
  );

  // It holds back nobody: not others, and not the same person.
  await producer.enqueue(sample(20));
  await producer.enqueue(poison);
  await queueIs(producer, { ...nothingLeft, failed: 1 });
  expect(await listSubmissions(store, {}, 100)).toHaveLength(11);
  expect(await showSubmission(store, poison.id)).toBeNull();

  await admin.query('DROP TRIGGER refuse_one ON submission');
  await job?.retry();
  await queueIs(producer, nothingLeft);
  const [lead] = await findLeads(store, { email: 'maria.silva.13@example.com' }, 2);
  expect(lead?.leadId).toBe(poison.leadId);
});
