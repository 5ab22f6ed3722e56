import type { CustomFieldType, Lead, Submission } from '@leadgate/contract';
import { NO_CUSTOM_VALUE } from '@leadgate/leads';
import { bareSubmission, testDatabase, untilBlocked } from '@leadgate/testkit';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { failureOf, StoreError } from '../failure-of.ts';
import { openStore, type Store } from '../open-store.ts';
import { applyGroup, type GroupItem } from './apply-group.ts';
import { mergeLeads } from './merges.ts';
import { successorOf } from './plan-workspace.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let other: pg.Client;
let workspaceId: string;

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 8 });
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

const fresh = (...submissions: Submission[]): GroupItem[] =>
  submissions.map((submission) => ({ submission, replay: false }));

const apply = (...submissions: Submission[]) => applyGroup(store, fresh(...submissions));

async function createField(name: string, type: CustomFieldType = 'text'): Promise<string> {
  const id = randomUUID();
  await store.prisma.customField.create({ data: { id, workspaceId, name, label: name, type } });
  return id;
}

const leadRow = (id: string) =>
  store.prisma.lead.findUnique({ where: { workspaceId_id: { workspaceId, id } } });

const submissionRow = ({ id }: Submission) => store.prisma.submission.findUnique({ where: { id } });

async function owners(): Promise<Record<string, string>> {
  const rows = await store.prisma.identity.findMany({ where: { workspaceId } });
  return Object.fromEntries(rows.map(({ key, leadId }) => [key, leadId]));
}

async function duplicates(): Promise<[string, string][]> {
  const rows = await store.prisma.possibleDuplicate.findMany({ where: { workspaceId } });
  return rows.map(({ leadA, leadB }) => [leadA, leadB]);
}

const sorted = (...ids: string[]) => ids.toSorted();

/** Runs `work` while another transaction holds what it did in `before`, then commits that. */
async function whileUncommitted<T>(
  before: () => Promise<unknown>,
  work: () => Promise<T>,
): Promise<T> {
  await other.query('BEGIN');
  await before();
  const working = work();
  await untilBlocked(other);
  await other.query('COMMIT');
  return working;
}

describe('a submission', () => {
  test('makes a lead with its values, provenance, keys, custom fields and notes', async () => {
    const [plan, leadId] = [await createField('plan'), randomUUID()];
    const submission = sample(
      leadId,
      {
        email: 'ana@example.com',
        telephone: '5511987654321',
        name: 'Ana',
        birthday: '1990-02-28',
        address: { city: 'São Paulo', zipCode: '01310100' },
        utmSource: 'google',
        customFields: { plan: 'gold', nobody: 'x' },
      },
      {
        notes: [{ field: '/x', code: 'unknown-key' }],
        page: 'https://example.com',
        address: '::1',
      },
    );
    const { id, order, stamp } = submission;
    expect(await apply(submission)).toEqual({
      applied: [
        {
          ...{ submissionId: id, leadId, outcome: 'created' },
          notes: ['unknown-key', 'unknown-custom-field'],
        },
      ],
      moved: [],
    });
    expect(await leadRow(leadId)).toMatchObject({
      email: 'ana@example.com',
      telephone: '5511987654321',
      name: 'Ana',
      birthday: new Date('1990-02-28T00:00:00Z'),
      city: null,
      address: { city: 'São Paulo', zipCode: '01310100' },
      provenance: [
        [
          id,
          stamp,
          order,
          'email',
          'name',
          'telephone',
          'birthday',
          'address.city',
          'address.zipCode',
        ],
      ],
      firstTouch: { values: { utmSource: 'google' }, submissionId: id, stamp, order },
      lastTouch: { values: { utmSource: 'google' }, submissionId: id, stamp, order },
      creatorId: id,
      creatorOrder: BigInt(order),
      customFields: { [plan]: 'gold' },
    });
    expect(await owners()).toEqual({
      'email:ana@example.com': leadId,
      'phone:+5511987654321': leadId,
    });
    expect(await submissionRow(submission)).toMatchObject({
      leadId,
      identities: [
        ['email:ana@example.com', leadId],
        ['phone:+5511987654321', leadId],
      ],
      lead: submission.lead,
      notes: [{ field: '/x', code: 'unknown-key' }, { code: 'unknown-custom-field' }],
      body: submission.body,
      page: 'https://example.com',
      address: '::1',
    });
  });

  test('keeps what was noted where its custom fields were read', async () => {
    await createField('plan');
    const detail = NO_CUSTOM_VALUE;
    const notes = ['gone', 'plan'].map((key) => ({
      ...{ field: `/customFields/${key}`, code: 'invalid-custom-value' as const, detail },
    }));
    const submission = sample(randomUUID(), { customFields: { plan: 'gold', no: 'x' } }, { notes });
    const all = [...notes, { field: '/customFields/no', code: 'unknown-custom-field' }];
    await apply(submission);
    expect(await submissionRow(submission)).toMatchObject({ notes: all });
  });

  test('of a form has custom fields at its top level by their names, and says so', async () => {
    const [plan, leadId] = [await createField('plano'), randomUUID()];
    const notes = [
      ...(['/plano', '/botao'] as const).map((field) => ({ field, code: 'unknown-key' as const })),
      { field: '', code: 'nothing-recognised' as const },
    ];
    const submission = sample(leadId, { otherKeys: { plano: 'ouro', botao: 'x' } }, { notes });
    expect((await apply(submission)).applied).toMatchObject([
      { notes: ['unknown-key', 'top-level-custom-field'] },
    ]);
    expect(await leadRow(leadId)).toMatchObject({ customFields: { [plan]: 'ouro' } });
    expect(await submissionRow(submission)).toMatchObject({
      notes: [
        { field: '/botao', code: 'unknown-key' },
        { field: '/plano', code: 'top-level-custom-field' },
      ],
    });
  });

  test('that is empty still makes its lead', async () => {
    const submission = sample(randomUUID(), {});
    const { applied } = await apply(submission);
    expect(applied).toMatchObject([{ outcome: 'created' }]);
    expect(await leadRow(submission.leadId)).toMatchObject({ creatorId: submission.id });
  });

  test('applied again changes nothing, not even the time of the last change', async () => {
    const plan = await createField('plan');
    const leadId = randomUUID();
    const first = sample(leadId, { name: 'Ana', customFields: { plan: 'gold' } });
    await apply(first);
    const before = await leadRow(leadId);
    await store.prisma.customField.update({ where: { id: plan }, data: { name: 'other' } });
    expect(await apply(first, first)).toMatchObject({ applied: [{ outcome: 'already-applied' }] });
    expect(await leadRow(leadId)).toEqual(before);
  });

  test('that says nothing new leaves the row of its lead untouched', async () => {
    const leadId = randomUUID();
    const later = sample(leadId, { name: 'Ana' }, { order: 2_000 });
    const first = sample(leadId, {}, { order: 1_000 });
    await apply(later, first);
    const before = await leadRow(leadId);
    const older = sample(leadId, { name: 'An' }, { order: 1_500 });
    expect(await apply(older)).toMatchObject({ applied: [{ outcome: 'updated' }] });
    expect(await leadRow(leadId)).toEqual(before);
  });

  test('twice in a group counts once', async () => {
    const submission = sample(randomUUID(), { name: 'Ana' });
    expect((await apply(submission, submission)).applied).toEqual([
      { submissionId: submission.id, leadId: submission.leadId, outcome: 'created', notes: [] },
    ]);
  });

  test('of one workspace never touches a lead of another with the same id and key', async () => {
    const leadId = randomUUID();
    const elsewhere = randomUUID();
    const here = sample(leadId, { email: 'ana@example.com', name: 'Ana' });
    const there = bareSubmission({
      workspaceId: elsewhere,
      leadId,
      lead: { email: 'ana@example.com', name: 'Bia' },
    });
    const { applied } = await apply(here, there);
    expect(applied.map(({ outcome }) => outcome)).toEqual(['created', 'created']);
    expect(await leadRow(leadId)).toMatchObject({ name: 'Ana' });
  });

  test('from before the lead was known takes custom fields and nothing newer', async () => {
    const plan = await createField('plan');
    const leadId = randomUUID();
    const later = sample(leadId, { name: 'Ana', customFields: { plan: 'late' } }, { order: 2_000 });
    const first = sample(leadId, { name: 'An', customFields: { plan: 'first' } }, { order: 1_000 });
    await apply(later);
    expect((await apply(first)).applied).toMatchObject([{ outcome: 'updated' }]);
    expect(await leadRow(leadId)).toMatchObject({
      name: 'Ana',
      creatorId: first.id,
      customFields: { [plan]: 'first' },
    });
  });
});

describe('a replay', () => {
  test('fills the custom field that was forgotten, and its note goes', async () => {
    const leadId = randomUUID();
    const submission = sample(
      leadId,
      { customFields: { plan: 'gold' } },
      { notes: [{ field: '/x', code: 'unknown-key' }] },
    );
    await apply(submission);
    const stored = await submissionRow(submission);
    const plan = await createField('plan');
    const replayed = { ...submission, notes: stored?.notes as unknown as Submission['notes'] };
    expect(await applyGroup(store, [{ submission: replayed, replay: true }])).toMatchObject({
      applied: [{ outcome: 'updated' }],
    });
    expect(await leadRow(leadId)).toMatchObject({ customFields: { [plan]: 'gold' } });
    expect(await submissionRow(submission)).toMatchObject({
      notes: [{ field: '/x', code: 'unknown-key' }],
    });
  });

  test('of a submission that never arrived stores it', async () => {
    const submission = sample(randomUUID(), { name: 'Ana' });
    expect(await applyGroup(store, [{ submission, replay: true }])).toMatchObject({
      applied: [{ outcome: 'created' }],
    });
    expect(await submissionRow(submission)).not.toBeNull();
  });
});

describe('two workers at once', () => {
  test('on a lead without a row fold from the same past', async () => {
    const leadId = randomUUID();
    const [first, second] = [sample(leadId, { name: 'Ana' }), sample(leadId, { city: 'Recife' })];
    const outcomes = await Promise.all([apply(first), apply(second)]);
    expect(await leadRow(leadId)).toMatchObject({ name: 'Ana', city: 'Recife' });
    expect(outcomes.flatMap(({ applied }) => applied.map(({ outcome }) => outcome)).sort()).toEqual(
      ['created', 'updated'],
    );
  });

  test('on the same job store it once', async () => {
    const submission = sample(randomUUID(), { email: 'ana@example.com' });
    const outcomes = await Promise.all([apply(submission), apply(submission)]);
    expect(outcomes.flatMap(({ applied }) => applied.map(({ outcome }) => outcome)).sort()).toEqual(
      ['already-applied', 'created'],
    );
  });

  test('on the same leads the other way round do not block each other', async () => {
    const leads = Array.from({ length: 20 }, () => randomUUID());
    await apply(...leads.map((id) => sample(id, {})));
    const rounds = Array.from({ length: 6 }, (_, round) => {
      const ids = round % 2 === 0 ? leads : leads.toReversed();
      return apply(...ids.map((id) => sample(id, { [`address`]: { street: `${round}` } })));
    });
    await Promise.all(rounds);
    const rows = await store.prisma.lead.findMany({ where: { workspaceId } });
    expect(rows).toHaveLength(leads.length);
  });

  test('that make the same leads at once, beside known ones, lose nothing and tell of each change once', async () => {
    await store.prisma.endpoint.create({
      data: {
        ...{ id: randomUUID(), workspaceId, name: 'crm', url: 'https://crm.example/' },
        ...{ concurrency: 1, secret: new Uint8Array(1), events: ['lead.created', 'lead.updated'] },
      },
    });
    const [first = '', ...rest] = Array.from({ length: 12 }, (): string => randomUUID()).sort();
    const [begun, known] = [rest.slice(0, 8), rest.slice(8)];
    await apply(...known.map((id) => sample(id, {})));
    const fields = ['name', 'city', 'profession', 'state'] as const;
    // All of them have read that the first lead is not there, and wait with their other leads still to make.
    await other.query('BEGIN');
    await other.query('INSERT INTO lead (workspace_id, id) VALUES ($1, $2)', [workspaceId, first]);
    const groups = fields.map((field, n) => {
      const ids = n % 2 === 0 ? rest : rest.toReversed();
      return apply(...[first, ...ids].map((id) => sample(id, { [field]: field })));
    });
    await untilBlocked(other, groups.length);
    await other.query('ROLLBACK');

    const outcomes = (await Promise.all(groups)).flatMap(({ applied }) => applied);
    const created = outcomes.filter(({ outcome }) => outcome === 'created');
    expect(created.map(({ leadId }) => leadId).sort()).toEqual([first, ...begun]);
    const rows = await store.prisma.lead.findMany({ where: { workspaceId } });
    for (const row of rows)
      expect(row).toMatchObject({
        ...Object.fromEntries(fields.map((field) => [field, field])),
        version: known.includes(row.id) ? fields.length + 1 : fields.length,
      });
    const deliveries = await store.prisma.delivery.findMany({ where: { workspaceId } });
    expect(new Map(deliveries.map(({ leadId, version }) => [leadId, version]))).toEqual(
      new Map(rows.map(({ id, version }) => [id, version])),
    );
    const { rows: changes } = await other.query<{ id: string; n: number }>(
      `SELECT id, count(*)::integer AS n FROM lead_change, unnest(lead_ids) AS id
       WHERE workspace_id = $1 GROUP BY id`,
      [workspaceId],
    );
    expect(new Map(changes.map(({ id, n }) => [id, n]))).toEqual(
      new Map(rows.map(({ id, version }) => [id, version])),
    );
  });

  test('that give one email to two new ids end with one lead, the other id an alias', async () => {
    const email = 'ana@example.com';
    const ids = Array.from({ length: 6 }, () => randomUUID());
    const groups = await Promise.all(
      ids.map((id, n) => apply(sample(id, { email, address: { number: `${n}` } }))),
    );
    const { [`email:${email}`]: owner } = await owners();
    const rows = await store.prisma.lead.findMany({ where: { workspaceId } });
    for (const { id, mergedInto } of rows) expect(mergedInto).toBe(id === owner ? null : owner);
    expect(rows).toHaveLength(ids.length);
    expect(groups.flatMap(({ moved }) => moved)).toHaveLength(ids.length - 1);
    expect(await duplicates()).toEqual([]);
  });
});

describe('a commit that comes between reading and locking', () => {
  test('of an owner of the key makes the new id an alias, not a second owner', async () => {
    const [owner, id] = [randomUUID(), randomUUID()];
    const result = await whileUncommitted(
      async () => {
        await other.query('INSERT INTO lead (workspace_id, id) VALUES ($1, $2)', [
          workspaceId,
          owner,
        ]);
        await other.query(
          `INSERT INTO identity (workspace_id, key, lead_id) VALUES ($1, 'email:ana@example.com', $2)`,
          [workspaceId, owner],
        );
      },
      () => apply(sample(id, { email: 'ana@example.com', name: 'Ana' })),
    );
    expect(result.applied).toMatchObject([{ leadId: owner, outcome: 'created' }]);
    expect(result.moved).toEqual([
      { workspaceId, key: 'email:ana@example.com', from: id, to: owner },
    ]);
    expect(await leadRow(id)).toMatchObject({ mergedInto: owner, creatorId: null });
    expect(await leadRow(owner)).toMatchObject({ name: 'Ana' });
  });

  test('of a merge carries the submission to the lead that stays', async () => {
    const [kept, merged] = [randomUUID(), randomUUID()];
    await apply(sample(kept, { name: 'Ana' }), sample(merged, {}));
    const result = await whileUncommitted(
      () => other.query('UPDATE lead SET merged_into = $1 WHERE id = $2', [kept, merged]),
      () => apply(sample(merged, { city: 'Recife' })),
    );
    expect(result.applied).toMatchObject([{ leadId: kept, outcome: 'updated' }]);
    expect(await leadRow(kept)).toMatchObject({ name: 'Ana', city: 'Recife' });
    expect(await leadRow(merged)).toMatchObject({ city: null });
  });

  test('of a merge makes the new leads of the group anew, each once', async () => {
    const [kept, merged, begun] = [randomUUID(), randomUUID(), randomUUID()];
    await apply(sample(kept, {}), sample(merged, {}));
    const result = await whileUncommitted(
      () => other.query('UPDATE lead SET merged_into = $1 WHERE id = $2', [kept, merged]),
      () => apply(sample(begun, { name: 'Bia' }), sample(merged, { city: 'Recife' })),
    );
    expect(result.applied).toMatchObject([
      { leadId: begun, outcome: 'created' },
      { leadId: kept, outcome: 'updated' },
    ]);
    expect(await leadRow(begun)).toMatchObject({ name: 'Bia', version: 1 });
    expect(await leadRow(kept)).toMatchObject({ city: 'Recife', version: 2 });
    const { rowCount } = await other.query(
      'SELECT FROM lead_change WHERE workspace_id = $1 AND $2 = ANY (lead_ids)',
      [workspaceId, begun],
    );
    expect(rowCount).toBe(1);
  });

  test('of an erasure drops the submission', async () => {
    const leadId = randomUUID();
    await apply(sample(leadId, {}));
    const submission = sample(leadId, { name: 'Ana' });
    const result = await whileUncommitted(
      () =>
        other.query('UPDATE lead SET erased_order = $1 WHERE id = $2', [submission.order, leadId]),
      () => apply(submission),
    );
    expect(result.applied).toMatchObject([{ outcome: 'erased' }]);
    expect(await leadRow(leadId)).toMatchObject({ name: null });
  });

  test('of another alias of the same id follows it', async () => {
    const [one, two, id] = [randomUUID(), randomUUID(), randomUUID()];
    await apply(sample(one, { email: 'one@example.com' }), sample(two, {}));
    const result = await whileUncommitted(
      () =>
        other.query('INSERT INTO lead (workspace_id, id, merged_into) VALUES ($1, $2, $3)', [
          workspaceId,
          id,
          two,
        ]),
      () => apply(sample(id, { email: 'one@example.com', name: 'Ana' })),
    );
    expect(result.applied).toMatchObject([{ leadId: two }]);
    expect(await duplicates()).toEqual([sorted(one, two)]);
    expect(await owners()).toEqual({ 'email:one@example.com': one });
  });

  test('of the very row that is to be made is no reason to lose what it holds', async () => {
    const leadId = randomUUID();
    await whileUncommitted(
      () =>
        other.query(
          `INSERT INTO lead (workspace_id, id, city, creator_id, creator_order, provenance)
           VALUES ($1, $2, 'Recife', $2, 1, jsonb_build_array(jsonb_build_array($3::text, 1, 1, 'city')))`,
          [workspaceId, leadId, leadId],
        ),
      () => apply(sample(leadId, { name: 'Ana' })),
    );
    expect(await leadRow(leadId)).toMatchObject({ name: 'Ana', city: 'Recife', creatorId: leadId });
  });
});

describe('where reservation and Postgres disagree', () => {
  test('an answered id stands for the lead that the drain found', async () => {
    const [leadId, answeredLeadId] = [randomUUID(), randomUUID()];
    await apply(sample(leadId, { name: 'Ana' }, { answeredLeadId }));
    expect(await leadRow(answeredLeadId)).toMatchObject({ mergedInto: leadId });
    expect((await apply(sample(answeredLeadId, { city: 'Recife' }))).applied).toMatchObject([
      { leadId },
    ]);
  });

  test('stands for the lead too when a sender was answered twice, in one group or later', async () => {
    const [leadId, second, third] = [randomUUID(), randomUUID(), randomUUID()];
    const once = sample(leadId, { name: 'Ana' });
    const { applied } = await apply(once, { ...once, answeredLeadId: second });
    expect(applied).toMatchObject([{ leadId, outcome: 'created' }]);
    await apply({ ...once, answeredLeadId: third }, { ...once, answeredLeadId: second });
    for (const id of [second, third])
      expect(await leadRow(id)).toMatchObject({ mergedInto: leadId });
    expect(await store.prisma.submission.count({ where: { workspaceId } })).toBe(1);
  });

  test('stands for what the lead was merged into while it was given out', async () => {
    const [a, b, answeredLeadId] = [randomUUID(), randomUUID(), randomUUID()];
    const done = sample(b, { email: 'b@example.com' });
    await apply(sample(a, { email: 'a@example.com' }), done);
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM lead WHERE id = $1 FOR UPDATE', [b]);
    const applying = apply({ ...done, answeredLeadId });
    await untilBlocked(other);
    await other.query('UPDATE lead SET merged_into = $1 WHERE id = $2', [a, b]);
    await other.query('COMMIT');
    await applying;
    expect(await leadRow(answeredLeadId)).toMatchObject({ mergedInto: a });
  });

  test('an id with a history of its own keeps it, and the two are possible duplicates', async () => {
    const [a, b] = [randomUUID(), randomUUID()];
    await apply(sample(a, { email: 'ana@example.com' }), sample(b, { name: 'Ana' }));
    const { moved } = await apply(sample(b, { email: 'ana@example.com' }));
    expect(moved).toEqual([{ workspaceId, key: 'email:ana@example.com', from: b, to: a }]);
    expect(await duplicates()).toEqual([sorted(a, b)]);
    expect(await leadRow(b)).toMatchObject({ name: 'Ana', email: 'ana@example.com' });
  });
});

describe('an erased lead', () => {
  const erasedOrder = 1_700_000_000_000_000;
  let leadId: string;

  beforeEach(async () => {
    leadId = randomUUID();
    await store.prisma.lead.create({
      data: { workspaceId, id: leadId, erasedOrder: BigInt(erasedOrder) },
    });
  });

  test('keeps nothing personal of what is from before, and a retry finds it done', async () => {
    const submission = sample(
      leadId,
      { email: 'ana@example.com' },
      {
        order: erasedOrder + 5,
        stamp: erasedOrder,
        page: 'https://example.com/?ana',
        address: '::1',
      },
    );
    expect((await apply(submission)).applied).toMatchObject([{ leadId, outcome: 'erased' }]);
    const row = await submissionRow(submission);
    expect(row).toMatchObject({ body: '', lead: {}, identities: [], page: null, address: null });
    expect(await owners()).toEqual({});
    expect((await apply(submission)).applied).toMatchObject([{ outcome: 'already-applied' }]);
    expect(await applyGroup(store, [{ submission, replay: true }])).toMatchObject({
      applied: [{ outcome: 'erased' }],
    });
    expect(await submissionRow(submission)).toEqual(row);
  });

  test('begins anew as another lead, in whose history the later submission stands', async () => {
    const submission = sample(
      leadId,
      { email: 'ana@example.com', name: 'Ana' },
      { order: erasedOrder + 1 },
    );
    const next = successorOf(leadId);
    expect(await apply(submission)).toMatchObject({
      applied: [{ leadId: next, outcome: 'created' }],
      moved: [{ from: leadId, to: next }],
    });
    expect(await leadRow(next)).toMatchObject({ name: 'Ana' });
    expect(await leadRow(leadId)).toMatchObject({ name: null });
    expect(await submissionRow(submission)).toMatchObject({ leadId: next });
  });
});

describe('what Postgres cannot hold', () => {
  test('is stored without it, wherever it stands', async () => {
    const plan = await createField('plan');
    const leadId = randomUUID();
    const submission = sample(
      leadId,
      {
        email: 'a\0na@example.com',
        name: '\ud800Ana \ud83d\ude00',
        address: { street: 'R\0ua' },
        utmTerm: '\udfff',
        customFields: { 'pl\0an': 'go\0ld', '\ud800': 'x' },
      },
      {
        body: '{"a":"\0\ud800"}',
        page: 'https://example.com/\0',
        userAgent: '\0',
        requestId: '\udc00',
        notes: [{ field: '/\0', code: 'unknown-key', detail: '\ud800' }],
      },
    );
    await apply(submission);
    expect(await leadRow(leadId)).toMatchObject({
      email: 'ana@example.com',
      name: '\ufffdAna \ud83d\ude00',
      address: { street: 'Rua' },
      customFields: { [plan]: 'gold' },
    });
    expect(await owners()).toEqual({ 'email:ana@example.com': leadId });
    expect(await submissionRow(submission)).toMatchObject({ body: '{"a":"\ufffd"}' });
  });

  test.each<[string, Partial<Submission>]>([
    ['a date that is none', { lead: { birthday: '2024-02-31' } }],
    ['an id that is none', { id: 'not-a-uuid' }],
    ['a workspace that is none', { workspaceId: 'not-a-uuid' }],
    ['an owner that is none', { identities: [{ key: 'email:x', owner: 'not-a-uuid' }] }],
    ['a key longer than an index takes', { identities: [{ key: longKey(), owner: null }] }],
    ['an order beyond its type', { order: 1e300 }],
    ['a source of another version', { source: 'fax' as Submission['source'] }],
  ])('fails its group without a trace and quotes nothing: %s', async (_, bad) => {
    const good = sample(randomUUID(), { name: 'Ana' });
    const leadId = randomUUID();
    const poison = { ...sample(leadId, { email: 'secret@example.com' }), ...bad };
    if (poison.identities[0]?.owner === null) poison.identities[0].owner = leadId;
    const error: unknown = await apply(good, poison).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(StoreError);
    expect(failureOf(error)).toBe('data');
    expect(String((error as Error).stack)).not.toMatch(/secret|2024-02-31|not-a-uuid/);
    expect(await submissionRow(good)).toBeNull();
    expect((await apply(good)).applied).toMatchObject([{ outcome: 'created' }]);
  });
});

function longKey(): string {
  return `email:${Array.from({ length: 200 }, () => randomUUID()).join('')}`;
}

test('from the third email on, a telephone is noted that may be nobody’s', async () => {
  const lead = randomUUID();
  const telephone = '5511999999999';
  const notesOf = async (n: number, more: Lead = { telephone }) => {
    const submission = sample(lead, { email: `${n}@example.com`, ...more });
    const { applied } = await apply(submission);
    expect((await submissionRow(submission))?.notes).toEqual(
      applied[0]?.notes.map((code) => ({ field: '/telephone', code })),
    );
    return applied[0]?.notes;
  };
  expect(await notesOf(1)).toEqual([]);
  expect(await notesOf(2)).toEqual([]);
  expect(await notesOf(3)).toEqual(['shared-phone']);
  expect(await notesOf(3)).toEqual([]);
  expect(await notesOf(4)).toEqual(['shared-phone']);
  const [other, ...atOnce] = [randomUUID(), 5, 6, 7].map(String);
  const { applied } = await apply(
    ...atOnce.map((n) =>
      sample(other ?? '', { email: `${n}@example.com`, telephone: '551133334444' }),
    ),
  );
  expect(applied.map(({ notes }) => notes)).toEqual(atOnce.map(() => ['shared-phone']));
});

describe('merging', () => {
  const merge = (keep: string, lose: string) => mergeLeads(store, workspaceId, keep, lose);

  test('leaves one lead of both histories, its keys and its aliases', async () => {
    const [a, b, alias] = [randomUUID(), randomUUID(), randomUUID()];
    await apply(sample(a, { email: 'a@example.com', name: 'Old', city: 'Recife' }));
    await apply(sample(b, { email: 'b@example.com', name: 'New' }, { answeredLeadId: alias }));
    expect(await merge(a, alias)).toEqual({
      kind: 'merged',
      leadId: a,
      mergedId: b,
      moved: [{ workspaceId, key: 'email:b@example.com', from: b, to: a }],
    });
    expect(await leadRow(a)).toMatchObject({ name: 'New', city: 'Recife', email: 'b@example.com' });
    expect(await leadRow(b)).toMatchObject({ mergedInto: a, name: null, provenance: [] });
    expect(await leadRow(alias)).toMatchObject({ mergedInto: a });
    expect(await owners()).toEqual({ 'email:a@example.com': a, 'email:b@example.com': a });
    expect(await merge(b, alias)).toEqual({ kind: 'one-lead', leadId: a });
  });

  test('says which id is not a lead, and leaves an erased one alone', async () => {
    const [a, erased, unknown] = [randomUUID(), randomUUID(), randomUUID()];
    await apply(sample(a, {}), sample(erased, {}));
    await other.query('UPDATE lead SET erased_order = 1 WHERE id = $1', [erased]);
    expect(await merge(a, unknown)).toEqual({ kind: 'unknown-lead', leadId: unknown });
    expect(await merge(unknown, a)).toEqual({ kind: 'unknown-lead', leadId: unknown });
    expect(await merge(a, erased)).toEqual({ kind: 'erased-lead', leadId: erased });
  });

  test('in a ring, all at once and while submissions come, ends with one lead that has all', async () => {
    const ids = Array.from({ length: 5 }, () => randomUUID());
    await apply(...ids.map((id, n) => sample(id, { email: `${n}@example.com` })));
    const streets = ['street', 'number', 'complement', 'neighborhood', 'city'] as const;
    await Promise.all([
      ...ids.map((id, n) => merge(id, ids[(n + 1) % ids.length] as string)),
      ...ids.map((id, n) => apply(sample(id, { address: { [streets[n] as string]: `${n}` } }))),
    ]);
    const rows = await store.prisma.lead.findMany({ where: { workspaceId } });
    const [lead, ...more] = rows.filter(({ mergedInto }) => mergedInto === null);
    expect(more).toEqual([]);
    expect(rows.filter(({ mergedInto }) => mergedInto === lead?.id)).toHaveLength(4);
    expect(Object.keys(lead?.address as object)).toHaveLength(5);
    expect(new Set(Object.values(await owners()))).toEqual(new Set([lead?.id]));
  });
});
