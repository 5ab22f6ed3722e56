import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { awaitRedis, connectRedis, StartError } from '@leadgate/boot';
import { openWorkspace } from '@leadgate/intake';
import { loadOperation, Refusal, Runner, runOperation } from '@leadgate/operations';
import { queueCounts } from '@leadgate/queue';
import { applyGroup, erasureKeyOf, openStore, showLead } from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import pg from 'pg';
import { afterEach, expect, inject, test } from 'vitest';
import { createCloses, makeWorkspace, producerUnderTest, workerUnderTest } from '../test/worker.ts';

const ERASURE_KEY = 'a key of the tests, long enough to hash';
const MARK = 'zqxmarked';
const marked = { email: `${MARK}@example.com`, telephone: '5511987654321', name: MARK };

const closes = createCloses();
afterEach(closes.all);

/** A copy of a database as it is now, as a dump that is put back under another name would be. */
async function copyOf(url: string): Promise<string> {
  const [copy, admin] = [new URL(url), new pg.Client({ connectionString: inject('databaseUrl') })];
  const name = copy.pathname.slice(1);
  copy.pathname = `/${name}_older`;
  await admin.connect();
  closes.add('admin', () => admin.end());
  await admin.query(`CREATE DATABASE "${name}_older" TEMPLATE "${name}"`);
  closes.add('copy', () => admin.query(`DROP DATABASE "${name}_older" WITH (FORCE)`));
  return copy.href;
}

/** How many rows of any table say the mark. */
async function rowsWithMark(url: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
    );
    let found = 0;
    for (const { name } of rows)
      found += (await client.query(`SELECT FROM "${name}" t WHERE t::text LIKE '%${MARK}%'`)).rows
        .length;
    return found;
  } finally {
    await client.end();
  }
}

test('a dump from before an erasure is rid of the person before the first job, whoever it has them as', async () => {
  const [database, redisServer] = await Promise.all([testDatabase(), testRedis()]);
  closes.add('database', database.drop);
  const folder = await mkdtemp(join(tmpdir(), 'leadgate-test-ledger-'));
  closes.add('folder', () => rm(folder, { recursive: true }));
  const ledger = join(folder, 'erasures.jsonl');
  const redis = connectRedis(redisServer.url, { role: 'admin' });
  closes.add('redis', () => redis.disconnect());
  await awaitRedis(redis);
  const open = (url: string) =>
    openStore({ url, poolSize: 2, erasureKey: erasureKeyOf(ERASURE_KEY) });

  let store = open(database.url);
  const workspaceId = await makeWorkspace(store);
  await openWorkspace(redis, workspaceId);
  const leadId = randomUUID();
  const identities = [`email:${marked.email}`, `phone:+${marked.telephone}`].map((key) => ({
    ...{ key, owner: leadId },
  }));
  const sent = { workspaceId, leadId, lead: marked, identities };
  const person = sampleSubmission(1, sent);
  const ana = sampleSubmission(2, { workspaceId, lead: { email: 'ana@example.com', name: 'Ana' } });
  await applyGroup(
    store,
    [person, ana].map((submission) => ({ submission, replay: false })),
  );
  await store.close();
  const older = await copyOf(database.url);
  expect(await rowsWithMark(older)).toBeGreaterThan(2);

  store = open(database.url);
  const erased = await runOperation(
    await loadOperation('lead.erase'),
    { workspaceId, email: marked.email, reason: 'ticket 4711' },
    {
      ...{ store, redis: () => Promise.resolve(redis), erasureLedger: ledger, receiverUrl: null },
      ...{ keyring: () => Promise.resolve(null), consentKey: null, runner: new Runner() },
      deliveries: () => Promise.reject(new Error('not asked for')),
      failed: () => Promise.reject(new Error('not asked for')),
      intake: () => Promise.reject(new Error('not asked for')),
    },
    {
      actor: { kind: 'command-line', name: 'tests', role: 'administrator', workspaces: [] },
      ...{ requestId: null, signal: new AbortController().signal, warn: () => undefined },
    },
  );
  await store.close();
  expect(erased instanceof Refusal ? erased.detail : erased.inLedger).toBe(true);
  expect(await readFile(ledger, 'utf8')).not.toContain(MARK);
  // A crash cut this one off: it did not happen.
  await appendFile(ledger, '\n{"v":1,"workspaceId":"');

  // In the dump the person stands under another id too, and a job of theirs waits.
  const admin = new pg.Client({ connectionString: older });
  await admin.connect();
  await admin.query('UPDATE lead SET id = gen_random_uuid() WHERE id = $1', [person.leadId]);
  await admin.query(
    `UPDATE identity SET lead_id = (SELECT id FROM lead WHERE name = $1)
    WHERE lead_id = $2`,
    [MARK, person.leadId],
  );
  await admin.query(
    'UPDATE submission SET lead_id = (SELECT id FROM lead WHERE name = $1) WHERE id = $2',
    [MARK, person.id],
  );
  await admin.end();
  const producer = await producerUnderTest(redisServer.url, closes);
  await producer.enqueue(sampleSubmission(3, sent));

  const servers = { databaseUrl: older, redisUrl: redisServer.url };
  const start = (env: Record<string, string>) => workerUnderTest(servers, env);
  await expect(start({ ERASURE_LEDGER: ledger })).rejects.toThrow(StartError);
  await expect(
    start({ ERASURE_LEDGER: ledger, ERASURE_KEY: `another ${ERASURE_KEY}` }),
  ).rejects.toThrow(/another ERASURE_KEY/);
  expect(await rowsWithMark(older)).toBeGreaterThan(2);

  const worker = await start({ ERASURE_LEDGER: ledger, ERASURE_KEY });
  closes.add('worker', worker.close);
  expect(await rowsWithMark(older)).toBe(0);
  await expect
    .poll(async () => {
      const { waiting, active, delayed } = await queueCounts(redis);
      return waiting + active + delayed;
    })
    .toBe(0);
  expect(await rowsWithMark(older)).toBe(0);
  store = open(older);
  closes.add('store', store.close);
  expect(await showLead(store, person.leadId, { historyLimit: 9 })).toMatchObject({
    erased: true,
    erasure: { reason: 'ticket 4711', by: 'tests' },
  });
  expect(await showLead(store, ana.leadId, { historyLimit: 9 })).toMatchObject({ name: 'Ana' });

  // What it knows, it leaves alone; and without the key it does not start any more.
  await worker.close();
  const again = await start({ ERASURE_LEDGER: ledger, ERASURE_KEY });
  expect(again.log()).not.toContain('erased again');
  await again.close();
  await expect(start({})).rejects.toThrow(/ERASURE_KEY is not set/);
}, 60_000);
