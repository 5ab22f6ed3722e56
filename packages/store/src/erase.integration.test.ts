import type { Lead, Submission } from '@leadgate/contract';
import { bareSubmission, keysOf, testDatabase, untilBlocked } from '@leadgate/testkit';
import { createHash, randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { applyGroup } from './apply/apply-group.ts';
import { mergeLeads } from './apply/merges.ts';
import { successorOf } from './apply/plan-workspace.ts';
import { erasePerson, type Erasure, knownOfPerson } from './erase.ts';
import { keepDiscarded, saveHeld, saveRejected } from './inbox.ts';
import { showLead } from './lead-details.ts';
import { openStore, type Store } from './open-store.ts';
import { makePartitions } from './retention.ts';
import { erasureKeyOf, erasureKeyState } from './tombstones.ts';

const SECRET = 'a key of the tests, long enough to hash';
const MARK = 'zqxmarked';
const EMAIL = `${MARK}@example.com`;
const PHONE = '5511987654321';
const marked: Lead = { email: EMAIL, telephone: PHONE, name: `${MARK} Silva`, city: MARK };

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let other: pg.Client;
let workspaceId: string;

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 8, erasureKey: erasureKeyOf(SECRET) });
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
});
afterAll(async () => {
  await other.end();
  await store.close();
  await database.drop();
});
beforeEach(async () => {
  workspaceId = randomUUID();
  await store.prisma.workspace.create({ data: { id: workspaceId, name: workspaceId } });
});

const sample = (leadId: string, lead: Lead, more: Partial<Submission> = {}) =>
  bareSubmission({ workspaceId, leadId, lead, ...more });
const apply = (...submissions: Submission[]) =>
  applyGroup(
    store,
    submissions.map((submission) => ({ submission, replay: false })),
  );

let lastOrder = 1_800_000_000_000_000;
async function erase(
  leadIds: string[],
  {
    identities = [],
    dryRun = false,
    ...more
  }: {
    identities?: string[];
    dryRun?: boolean;
    order?: number;
  } = {},
) {
  const recorded: Erasure[] = [];
  const request = {
    ...{ workspaceId, leadIds, identities, offeredLeadId: randomUUID() },
    ...{ reason: 'asked for by mail', erasedBy: 'tests' },
    ...{ order: (lastOrder += 1_000), erasedAt: new Date(), ...more },
  };
  const record = (erasure: Erasure) => Promise.resolve(void recorded.push(erasure));
  const person = await erasePerson(store, request, { dryRun, record });
  return { ...person, recorded };
}

/** Every row of the workspace, in every table, that says the mark or digits of the phone. */
async function found(): Promise<string[]> {
  const { rows: tables } = await other.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
  );
  const hits: string[] = [];
  for (const { name } of tables) {
    const { rows } = await other.query<{ row: string }>(
      `SELECT t::text AS row FROM "${name}" t
       WHERE t::text ~* '${MARK}|987654321' AND t::text LIKE '%${workspaceId}%'`,
    );
    hits.push(...rows.map(({ row }) => `${name}: ${row}`));
  }
  return hits;
}

async function keepAllKinds(leadId: string): Promise<void> {
  const body = `email=${encodeURIComponent(EMAIL)}&name=${MARK}`;
  const post = sample(randomUUID(), marked, { identities: [] });
  await saveHeld(store, [{ ...post, held: { reason: 'honeypot', keys: keysOf(marked) } }]);
  await saveRejected(store, [
    {
      ...{ id: sample(leadId, {}).id, workspaceId, linkId: workspaceId, stamp: post.stamp },
      ...{ code: 'invalid-lead', errors: [], body, bodyType: 'form' },
    },
  ]);
  const failed = sample(leadId, marked);
  await keepDiscarded(store, {
    ...{ jobId: failed.id, discardedAt: new Date(), reason: 'x', failure: 'y' },
    ...{ submissionId: failed.id, workspaceId, linkId: workspaceId, content: failed },
  });
}

test('no byte of a person stays, whatever was kept of them, and ids say when and why', async () => {
  const [kept, merged] = [randomUUID(), randomUUID()];
  const more = { page: `https://lp.example/?e=${EMAIL}`, userAgent: MARK, address: '203.0.113.7' };
  await apply(sample(kept, marked, more), sample(merged, { name: MARK, city: 'Recife' }));
  await mergeLeads(store, workspaceId, kept, merged);
  await keepAllKinds(kept);
  expect((await found()).length).toBeGreaterThan(6);

  const before = await found();
  const dry = await erase([merged], { dryRun: true });
  expect(await found()).toEqual(before);
  const { counts, recorded } = await erase([merged]);
  expect(counts).toEqual(dry.counts);
  expect(counts).toMatchObject({ leads: 1, identities: 2, submissions: 2, held: 1, rejected: 1 });
  expect(counts.discarded).toBe(1);
  expect(await found()).toEqual([]);
  expect(recorded).toMatchObject([{ leadId: kept, aliases: [merged] }]);
  expect(JSON.stringify(recorded)).not.toContain(MARK);
  for (const id of [kept, merged])
    expect(await showLead(store, id, { historyLimit: 9 })).toMatchObject({
      leadId: kept,
      erased: true,
      erasure: { reason: 'asked for by mail', by: 'tests' },
    });
  expect((await erase([kept])).counts).toMatchObject({ leads: 0, submissions: 0, rejected: 0 });
});

test('an export of a person has every part of what is kept, and of an erased one nothing', async () => {
  const leadId = randomUUID();
  await apply(sample(leadId, marked), sample(randomUUID(), { email: 'ana@example.com' }));
  await keepAllKinds(leadId);
  const known = await knownOfPerson(store, leadId);
  for (const part of ['lead', 'submissions', 'refused', 'held', 'discarded'] as const)
    expect([part, JSON.stringify(known?.[part])]).toEqual([part, expect.stringContaining(MARK)]);
  expect(known).toMatchObject({
    ...{ submissions: { length: 1 }, refused: { length: 1 }, held: { length: 1 } },
    discarded: { length: 1 },
  });
  expect(JSON.stringify(known)).not.toContain('ana@example.com');
  await erase([leadId]);
  const after = await knownOfPerson(store, leadId);
  expect(JSON.stringify(after)).not.toMatch(/zqxmarked|987654321/);
  expect(after?.lead.erasure).toMatchObject({ reason: 'asked for by mail' });
});

test('Postgres keeps no samples of what people sent, in a month that is made later either', async () => {
  await makePartitions(store, 'submission', new Date());
  await makePartitions(store, 'rejected_submission', new Date());
  for (const n of [1, 2, 3]) {
    const leadId = randomUUID();
    const more = { page: `https://lp.example/?e=${MARK}${n}`, userAgent: `${MARK}${n}` };
    await apply(
      sample(
        leadId,
        {
          ...{ ...marked, email: `${n}${EMAIL}`, name: `${MARK} ${n}`, city: `${MARK}${n}` },
          ...{ address: { street: `${MARK}${n}` }, customFields: { plan: `${MARK}${n}` } },
        },
        more,
      ),
    );
    await keepAllKinds(leadId);
  }
  // Until a destination has erased them, emails are behind its names of erased leads.
  await other.query(
    `INSERT INTO endpoint
       (id, workspace_id, name, kind, url, secret, events, concurrency, lane_owner)
     VALUES (gen_random_uuid(), $1, 'hub', 'hubspot', '', '', '{lead.created,lead.erased}', 1, $1)`,
    [workspaceId],
  );
  for (const n of [1, 2, 3]) {
    const leadId = randomUUID();
    await apply(sample(leadId, { email: `hub${n}${MARK}@example.com` }));
    await erase([leadId]);
  }
  const names = await other.query(`SELECT FROM delivery WHERE remote_ids::text ~ '${MARK}'`);
  expect(names.rowCount).toBe(3);
  await other.query('ANALYZE');
  const { rows } = await other.query(
    `SELECT tablename, attname FROM pg_stats WHERE schemaname = current_schema()
     AND concat(most_common_vals, histogram_bounds, most_common_elems) ~* '${MARK}|987654321'`,
  );
  expect(rows).toEqual([]);
  await store.prisma.delivery.deleteMany();
});

test('an endpoint that was sent the person, or may be at this moment, is told of the erasure, and another one nothing', async () => {
  const [leadId, alias] = [randomUUID(), randomUUID()];
  const [knows, knewTheOther, tried, sends, died, cut, waits, doesNotAsk] = Array.from(
    { length: 8 },
    () => randomUUID(),
  );
  const events = '{lead.created,lead.updated,lead.erased}';
  for (const id of [knows, knewTheOther, tried, sends, died, cut, waits, doesNotAsk])
    await other.query(
      `INSERT INTO endpoint (id, workspace_id, name, url, secret, events, concurrency, lane_owner, lane_until)
       VALUES ($1, $2, $3, 'https://crm.example', '', $4, 1, $5, $6)`,
      [
        ...[id, workspaceId, id, id === doesNotAsk ? '{lead.created}' : events],
        id === sends || id === died ? randomUUID() : null,
        id === sends ? new Date(Date.now() + 60_000) : new Date(0),
      ],
    );
  await apply(sample(leadId, marked));
  await apply(sample(alias, { name: MARK, city: 'Recife' }));
  const sent = (id: string | undefined, lead: string) =>
    other.query(
      `UPDATE delivery SET due_at = NULL, delivered_at = now(), delivered_version = version
       WHERE endpoint_id = $1 AND lead_id = $2`,
      [id, lead],
    );
  await sent(knows, leadId);
  await sent(doesNotAsk, leadId);
  await sent(knewTheOther, alias);
  await other.query(`UPDATE delivery SET attempts = 1 WHERE endpoint_id = $1`, [tried]);
  await other.query(`UPDATE endpoint SET lane_lost_at = now() WHERE id = $1`, [cut]);
  await other.query(
    `INSERT INTO delivery_attempt
       (endpoint_id, lead_id, version, event, message_id, outcome, detail, duration_ms)
     VALUES ($1, $2, 1, 'lead.created', 'x', 'delivered', $3, 1)`,
    [knows, leadId, `{"seen":"${workspaceId} ${MARK}"}`],
  );
  await erase([leadId, alias]);
  const { rows } = await other.query<{ id: string }>(
    `SELECT endpoint_id AS id, event, lead_id = $2 AS root, version, due_at <= now() AS due
     FROM delivery WHERE lead_id = ANY ($1)`,
    [[leadId, alias], leadId],
  );
  const told = { event: 'lead.erased', root: true, version: 2, due: true };
  expect(rows.toSorted((a, b) => a.id.localeCompare(b.id))).toEqual(
    [knows, knewTheOther, tried, sends, died, cut].toSorted().map((id) => ({ id, ...told })),
  );
  expect(await found()).toEqual([]);
  await erase([leadId]);
});

test('other people stay as they were', async () => {
  const [leadId, ana] = [randomUUID(), randomUUID()];
  await apply(sample(leadId, marked), sample(ana, { email: 'ana@example.com', name: 'Ana' }));
  await saveRejected(store, [
    {
      ...{ id: randomUUID(), workspaceId, linkId: workspaceId, stamp: 1, code: 'invalid-lead' },
      ...{ errors: [], body: '{"email":"ana@example.com"}', bodyType: 'json' },
    },
  ]);
  const anaBefore = await showLead(store, ana, { historyLimit: 9 });
  await erase([leadId]);
  expect(await showLead(store, ana, { historyLimit: 9 })).toEqual(anaBefore);
  const where = { workspaceId };
  expect(await store.prisma.rejectedSubmission.count({ where })).toBe(1);
});

describe('what comes late', () => {
  test('under the lead itself, is dropped; what is from later begins anew', async () => {
    const leadId = randomUUID();
    await apply(sample(leadId, marked));
    const late = sample(leadId, marked);
    const { erasure } = await erase([leadId]);
    expect((await apply(late)).applied).toMatchObject([{ outcome: 'erased', leadId }]);
    expect(await found()).toEqual([]);
    const again = sample(leadId, marked, { order: erasure.order + 1 });
    expect((await apply(again)).applied).toMatchObject([
      { outcome: 'created', leadId: successorOf(leadId) },
    ]);
  });

  test('from a spool, under an id that nobody knew, is dropped, and the id says so', async () => {
    const [leadId, offered, answered] = [randomUUID(), randomUUID(), randomUUID()];
    await apply(sample(leadId, marked));
    const { erasure } = await erase([leadId]);
    const drained = sample(offered, marked, {
      ...{ order: erasure.order + 10, stamp: erasure.order - 10, answeredLeadId: answered },
    });
    const { applied, moved } = await apply(drained);
    expect(applied).toMatchObject([{ outcome: 'erased', leadId }]);
    // Its keys are free again: the next post of the person is a new lead's.
    expect(moved).toEqual(
      keysOf(marked).map((key) => ({ workspaceId, key, from: offered, to: null })),
    );
    expect(await found()).toEqual([]);
    for (const id of [offered, answered])
      expect(await showLead(store, id, { historyLimit: 1 })).toMatchObject({
        erased: true,
        leadId,
      });
  });

  test('of a person who is back, is dropped, and what they sent since stays', async () => {
    const [leadId, next] = [randomUUID(), randomUUID()];
    await apply(sample(leadId, marked));
    const { erasure } = await erase([leadId]);
    const order = erasure.order + 10;
    await apply(sample(next, { email: EMAIL, city: 'Recife' }, { order }));
    const late = sample(
      next,
      { ...marked, city: 'Natal' },
      { order: order + 1, stamp: order - 20 },
    );
    expect((await apply(late)).applied).toMatchObject([{ outcome: 'erased' }]);
    expect(await showLead(store, next, { historyLimit: 9 })).toMatchObject({
      ...{ city: 'Recife', erased: false, submissions: 1 },
    });
  });

  test('of another person who gave the same phone, is theirs', async () => {
    const [leadId, ana] = [randomUUID(), randomUUID()];
    await apply(sample(leadId, marked), sample(ana, { email: 'ana@example.com' }));
    const { erasure } = await erase([leadId]);
    const late = sample(
      ana,
      { email: 'ana@example.com', telephone: PHONE },
      { order: erasure.order + 10, stamp: erasure.order - 10 },
    );
    expect((await apply(late)).applied).toMatchObject([{ outcome: 'updated', leadId: ana }]);
  });

  test('in a file without times, brings nobody back who is not back', async () => {
    const [leadId, offered, next] = [randomUUID(), randomUUID(), randomUUID()];
    await apply(sample(leadId, marked));
    const { erasure } = await erase([leadId]);
    const row = (order: number, id: string) =>
      sample(id, { email: EMAIL, name: MARK }, { order, source: 'import' });
    expect((await apply(row(erasure.order + 10, offered))).applied).toMatchObject([
      { outcome: 'erased' },
    ]);
    await apply(sample(next, { email: EMAIL }, { order: erasure.order + 20 }));
    expect((await apply(row(erasure.order + 30, next))).applied).toMatchObject([
      { outcome: 'updated', leadId: next },
    ]);
  });

  test('and is not applied at all, is not kept', async () => {
    const leadId = randomUUID();
    await apply(sample(leadId, marked));
    const late = sample(randomUUID(), marked).order;
    await erase([leadId]);
    await keepAllKinds(leadId);
    expect(await found()).toEqual([]);
    expect(late).toBeLessThan(lastOrder);
  });
});

describe('at the same time', () => {
  test('a group that is committing comes first and goes too', async () => {
    const leadId = randomUUID();
    await apply(sample(leadId, marked));
    const late = sample(leadId, { ...marked, city: `${MARK} later` });
    await other.query('BEGIN');
    await other.query('SELECT FROM lead WHERE id = $1 FOR UPDATE', [leadId]);
    const applying = apply(late);
    await untilBlocked(other);
    const erasing = erase([leadId]);
    await other.query('COMMIT');
    const [{ applied }] = await Promise.all([applying, erasing]);
    expect(['updated', 'erased']).toContain(applied[0]?.outcome);
    expect(await found()).toEqual([]);
  });

  test('any groups and an erasure, in any order, leave nothing that is from before it', async () => {
    for (let round = 0; round < 8; round += 1) {
      const leadId = randomUUID();
      const posts = Array.from({ length: 6 }, (_, n) =>
        sample(leadId, { ...marked, profession: `${MARK} ${n}` }),
      );
      const erasing = erase([leadId], { identities: keysOf(marked) });
      await Promise.all([...posts.map((post) => apply(post)), erasing]);
      expect(await found()).toEqual([]);
    }
  });
});

describe('a proof of consent', () => {
  test('keeps the words of the form, and of words about the person their digest', async () => {
    const leadId = randomUUID();
    const sent = { ...marked, name: 'Ana Souza' };
    const text = 'Aceito receber novidades da Loja.';
    await apply(
      sample(leadId, sent, { consent: { given: true, text, textVersion: 'v2', language: 'pt' } }),
      sample(leadId, sent, {
        consent: { given: false, text: 'Eu, ANÁ, aceito.', textVersion: EMAIL },
      }),
    );
    // Its words outlive what said that they are about the person.
    await other.query('DELETE FROM submission WHERE lead_id = $1', [leadId]);
    await erase([leadId]);
    const lead = await showLead(store, leadId, { historyLimit: 1 });
    const [told, kept] = lead?.consents ?? [];
    expect(kept).toMatchObject({ given: true, text, textVersion: 'v2', language: 'pt' });
    expect(told).toMatchObject({
      given: false,
      textSha256: createHash('sha256').update('Eu, ANÁ, aceito.').digest('hex'),
      textVersionSha256: createHash('sha256').update(EMAIL).digest('hex'),
    });
    expect(told).not.toHaveProperty('text');
    expect(told).not.toHaveProperty('textVersion');
  });

  test('stays with the erased lead', async () => {
    const leadId = randomUUID();
    const consent = { given: true, text: 'Aceito.', textVersion: 'v2' };
    await apply(sample(leadId, marked, { consent, address: '203.0.113.7' }));
    expect((await erase([leadId])).counts.consents).toBe(1);
    const lead = await showLead(store, leadId, { historyLimit: 1 });
    expect(lead?.consents).toMatchObject([{ ...consent, address: null, page: null }]);
  });
});

test('an email that no lead has is erased ahead of what waits elsewhere', async () => {
  const { erasure } = await erase([], { identities: [`email:${EMAIL}`] });
  const drained = sample(
    randomUUID(),
    { email: EMAIL, name: MARK },
    {
      ...{ order: erasure.order + 10, stamp: erasure.order - 10 },
    },
  );
  expect((await apply(drained)).applied).toMatchObject([{ outcome: 'erased' }]);
  expect(await found()).toEqual([]);
});

test('a key that is missing, or another, is told from the one of the tombstones', async () => {
  await erase([], { identities: [`email:${EMAIL}`] });
  const { prisma } = store;
  expect(await erasureKeyState(store)).toBe('fits');
  expect(await erasureKeyState({ prisma, erasureKey: null })).toBe('missing');
  const erasureKey = erasureKeyOf(`${SECRET}!`);
  expect(await erasureKeyState({ prisma, erasureKey })).toBe('another');
});
