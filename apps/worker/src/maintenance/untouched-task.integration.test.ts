import { awaitRedis, connectRedis } from '@leadgate/boot';
import { openWorkspace } from '@leadgate/intake';
import {
  allowRetention,
  applyGroup,
  erasureKeyOf,
  openStore,
  previewRetention,
  retentionOf,
  saveHeld,
  setRetention,
  showLead,
} from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { createCloses, makeWorkspace, producerUnderTest } from '../../test/worker.ts';
import { createLease } from './maintenance.ts';
import { createRetentionTask, createUntouchedTask } from './retention-task.ts';

const closes = createCloses();
afterEach(closes.all);

async function servers() {
  const [database, { url: redisUrl }] = await Promise.all([testDatabase(), testRedis()]);
  closes.add('database', database.drop);
  const erasureKey = erasureKeyOf('a key of the tests, long enough to hash');
  const store = openStore({ url: database.url, poolSize: 2, erasureKey });
  closes.add('store', store.close);
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  closes.add('client', () => client.end());
  const redis = connectRedis(redisUrl, { role: 'admin' });
  closes.add('redis', () => redis.disconnect());
  await awaitRedis(redis);
  return { store, client, redis, redisUrl };
}

test('a workspace keeps submissions for days of its own, longer or shorter than the others', async () => {
  const { store, client, redis } = await servers();
  const [short, long, other] = [randomUUID(), randomUUID(), randomUUID()];
  for (const id of [short, long, other])
    await store.prisma.workspace.create({ data: { id, name: id } });
  let n = 1;
  for (const workspaceId of [short, long, other])
    for (const days of [50, 200]) {
      const submission = sampleSubmission(n++, { workspaceId, consent: { given: true } });
      await applyGroup(store, [{ submission, replay: false }]);
      await client.query(
        `UPDATE submission SET applied_at = now() - $2 * interval '1 day' WHERE id = $1`,
        [submission.id, days],
      );
    }
  const left = async () => {
    const { rows } = await client.query<{ workspace_id: string; days: number }>(
      `SELECT workspace_id, extract(day FROM now() - applied_at)::int AS days FROM submission
       ORDER BY applied_at DESC`,
    );
    const of = (id: string) => rows.flatMap((row) => (row.workspace_id === id ? row.days : []));
    return { short: of(short), long: of(long), other: of(other) };
  };
  expect(await previewRetention(store, short, 'submissions', 10)).toMatchObject({ count: 2 });
  await setRetention(store, { workspaceId: short, kind: 'submissions', days: 10 });
  await setRetention(store, { workspaceId: long, kind: 'submissions', days: 400 });
  await allowRetention(store, 'submission', new Date());
  const run = (submission: number | undefined) =>
    createRetentionTask(store, redis, { submission, rejected_submission: 30 }, 730).run();
  // Of what no workspace says, all stays.
  await run(undefined);
  expect(await left()).toEqual({ short: [], long: [50, 200], other: [50, 200] });
  await run(100);
  expect(await left()).toEqual({ short: [], long: [50, 200], other: [50] });
  expect(await client.query('SELECT FROM consent')).toMatchObject({ rowCount: 6 });
  expect(await retentionOf(store, long)).toContainEqual(
    expect.objectContaining({ kind: 'submissions', days: 400, by: 'workspace' }),
  );
  expect(await retentionOf(store, other)).toContainEqual(
    expect.objectContaining({ kind: 'submissions', days: 100, by: 'installation' }),
  );

  // A clock or a setting that is wrong costs no more than a month.
  await client.query(`UPDATE retention_policy SET days = 1, horizon = allowed - interval '1 day'`);
  await client.query(`UPDATE retention_policy SET allowed = NULL`);
  await expect(run(100)).rejects.toThrow(`submissions of workspace ${long}`);
  expect(await left()).toEqual({ short: [], long: [50, 200], other: [50] });
  await setRetention(store, { workspaceId: long, kind: 'submissions', days: null });
  await run(100);
  expect(await left()).toEqual({ short: [], long: [50], other: [50] });
});

test('leads that nobody touched for long are erased, never one for whom something waits', async () => {
  const { store, client, redis, redisUrl } = await servers();
  const workspaceId = await makeWorkspace(store);
  await openWorkspace(redis, workspaceId);
  const producer = await producerUnderTest(redisUrl, closes);
  const names = ['untouched', 'touched', 'waiting', 'held', 'failed', 'telling', 'fresh'] as const;
  const leads = new Map(names.map((name) => [name, randomUUID()]));
  const post = (n: number, name: (typeof names)[number], at = Date.now()) => {
    const leadId = leads.get(name) ?? '';
    const email = `${name}@example.com`;
    return sampleSubmission(n, {
      ...{ workspaceId, leadId, lead: { email }, order: at * 1_000, stamp: at * 1_000 },
      ...{ identities: [{ key: `email:${email}`, owner: leadId }], consent: { given: true } },
    });
  };
  const long = Date.now() - 1_000 * 86_400_000;
  const apply = (submission: ReturnType<typeof post>) =>
    applyGroup(store, [{ submission, replay: false }]);
  for (const [n, name] of names.entries()) await apply(post(n, name, long + n));
  await client.query(`UPDATE submission SET applied_at = now() - interval '1000 days'`);
  await client.query(
    `UPDATE lead SET updated_at = now() - interval '1000 days' WHERE email NOT LIKE 'fresh%'`,
  );
  // What changes no value touches too.
  await apply(post(11, 'touched'));
  await client.query(
    `UPDATE lead SET updated_at = now() - interval '1000 days' WHERE email LIKE 'touched%'`,
  );
  await saveHeld(store, [{ ...post(12, 'held'), held: { reason: 'honeypot', keys: [] } }]);
  await producer.enqueue(post(13, 'waiting'));
  // Out of attempts: an operator may still retry it.
  const failed = post(15, 'failed');
  const queue = 'leadgate:{leads-0}';
  await producer.enqueue(failed);
  await redis.rename(
    `${queue}:${(await redis.lpop(`${queue}:wait`)) ?? ''}`,
    `${queue}:${failed.id}`,
  );
  await redis.zadd(`${queue}:failed`, 1_000, failed.id);
  // An endpoint is still to be told.
  const endpointId = randomUUID();
  await client.query(
    `INSERT INTO endpoint (id, workspace_id, name, url, secret, events, concurrency)
     VALUES ($1, $2, 'crm', 'https://crm.example', '', '{lead.created}', 1)`,
    [endpointId, workspaceId],
  );
  await client.query(
    `INSERT INTO delivery (endpoint_id, lead_id, workspace_id, event, version, due_at)
     VALUES ($1, $2, $3, 'lead.created', 1, now())`,
    [endpointId, leads.get('telling'), workspaceId],
  );

  const folder = await mkdtemp(join(tmpdir(), 'leadgate-test-untouched-'));
  closes.add('folder', () => rm(folder, { recursive: true }));
  const ledger = join(folder, 'erasures.jsonl');
  const logger = { warn: vi.fn() };
  const lease = createLease(redis, 'leadgate:upkeep', 5_000);
  closes.add('lease', lease.release);
  const run = () => createUntouchedTask({ store, redis }, lease, { ledger, logger }).run();
  expect(await run()).toBeNull();
  expect(await previewRetention(store, workspaceId, 'leads', 730)).toMatchObject({ count: 3 });
  await setRetention(store, { workspaceId, kind: 'leads', days: 730 });
  expect(await run()).toEqual({ erased: 1 });
  const erased: string[] = [];
  for (const [name, id] of leads)
    if ((await showLead(store, id, { historyLimit: 1 }))?.erased === true) erased.push(name);
  expect(erased).toEqual(['untouched']);
  const untouched = leads.get('untouched') ?? '';
  expect(await showLead(store, untouched, { historyLimit: 1 })).toMatchObject({
    erasure: { reason: 'retention: untouched for 730 days', by: 'retention' },
    consents: [{ action: 'granted' }],
  });
  expect(await readFile(ledger, 'utf8')).toContain(untouched);
  expect(logger.warn).not.toHaveBeenCalled();

  // What was sent before the run is not lost by it.
  const late = await apply(post(14, 'untouched', Date.now() - 1_000));
  expect(late.applied).toMatchObject([{ outcome: 'created' }]);

  // The proof goes by days of its own, counted from the erasure.
  await setRetention(store, { workspaceId, kind: 'consents', days: 365 });
  const days = { submission: undefined, rejected_submission: 30 };
  await createRetentionTask(store, redis, days, 730).run();
  const proofs = async () => (await client.query('SELECT FROM consent')).rowCount;
  const before = await proofs();
  await client.query(
    `UPDATE retention_policy SET horizon = now() - interval '366 days', allowed = NULL WHERE kind = 'consents'`,
  );
  await client.query('ALTER TABLE consent DISABLE TRIGGER keep_consent');
  await client.query(
    `UPDATE consent SET erased_at = now() - interval '366 days' WHERE erased_at IS NOT NULL`,
  );
  await createRetentionTask(store, redis, days, 730).run();
  expect(await proofs()).toBe((before ?? 0) - 1);
});
