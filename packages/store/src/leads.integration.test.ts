import type { Lead, Note } from '@leadgate/contract';
import { testDatabase } from '@leadgate/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import type { Prisma } from './generated/client.ts';
import { showLead } from './lead-details.ts';
import { findLeads } from './leads.ts';
import { openStore, type Store } from './open-store.ts';
import { listSubmissions, showSubmission } from './submissions.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let workspaceId: string;

beforeAll(async () => {
  database = await testDatabase();
  // A server in a zone where a date read as a time would be the day before.
  const zone = new URL(database.url);
  zone.searchParams.set('options', '-c TimeZone=America/Los_Angeles');
  store = openStore({ url: zone.href, poolSize: 4 });
});

beforeEach(async () => {
  workspaceId = randomUUID();
  await store.prisma.workspace.create({ data: { id: workspaceId, name: workspaceId } });
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

const NOON = Date.UTC(2026, 10, 27, 12) * 1000;
let count = 0;

async function lead(more: Partial<Prisma.LeadUncheckedCreateInput> = {}): Promise<string> {
  const id = randomUUID();
  await store.prisma.lead.create({ data: { workspaceId, id, ...more } });
  return id;
}

async function identity(key: string, leadId: string): Promise<void> {
  await store.prisma.identity.create({ data: { workspaceId, key, leadId } });
}

/** Stores a submission accepted `minutes` after noon; ids rise with the calls. */
async function submission(leadId: string, minutes: number, sent: Lead = {}, notes: Note[] = []) {
  count += 1;
  const id = `01990000-0000-7000-8000-${count.toString(16).padStart(12, '0')}`;
  const order = NOON + minutes * 60_000_000;
  await store.prisma.submission.create({
    data: {
      id,
      workspaceId,
      linkId: LINK,
      leadId,
      order,
      stamp: order,
      source: 'post',
      identities: [['email:ana@example.com', leadId]],
      lead: sent,
      notes,
      body: JSON.stringify(sent),
      bodyType: 'json',
      page: 'https://a.example/lp',
    },
  });
  return { id, order };
}

const LINK = randomUUID();

describe('showLead', () => {
  test('an alias shows its lead, with the history of both and every identity', async () => {
    const id = await lead({ name: 'Ana' });
    const alias = await lead({ mergedInto: id });
    await identity('email:ana@example.com', id);
    await identity('phone:+5511987654321', alias);
    const first = await submission(alias, 1, { name: 'A' });
    const second = await submission(id, 2, { name: 'Ana' }, [{ field: '/x', code: 'unknown-key' }]);

    const shown = await showLead(store, alias, { historyLimit: 10 });
    expect(shown).toMatchObject({ leadId: id, name: 'Ana', aliases: [alias], submissions: 2 });
    expect(shown?.identities).toMatchObject([
      { kind: 'email', value: 'ana@example.com' },
      { kind: 'phone', value: '+5511987654321' },
    ]);
    expect(shown?.history).toMatchObject([
      { submissionId: second.id, sent: { name: 'Ana' }, notes: [{ code: 'unknown-key' }] },
      { submissionId: first.id, reservedFor: alias, acceptedAt: '2026-11-27T12:01:00.000Z' },
    ]);
    expect(await showLead(store, id, { historyLimit: 10 })).toEqual(shown);
  });

  test('fields are named as in a posted body, and a birthday is that day in every time zone', async () => {
    const fieldId = randomUUID();
    await store.prisma.customField.create({
      data: { id: fieldId, workspaceId, name: 'plan', label: 'Plano', type: 'text' },
    });
    const id = await lead({
      email: 'ana@example.com',
      birthday: new Date('1990-01-01'),
      address: { city: 'Recife', zipCode: '50000' },
      customFields: { [fieldId]: 'ouro' },
    });
    const shown = await showLead(store, id, { historyLimit: 10 });
    expect(shown).toMatchObject({
      email: 'ana@example.com',
      birthday: '1990-01-01',
      address: { city: 'Recife', zipCode: '50000' },
      customFields: { plan: 'ouro' },
      customFieldDetails: [{ id: fieldId, name: 'plan', label: 'Plano', value: 'ouro' }],
      firstTouch: null,
      lastTouch: null,
    });
    expect(shown).not.toHaveProperty('name');
  });

  test('each value is traced to its submission, and each submission to what stands of it', async () => {
    const id = await lead();
    const first = await submission(id, 1, { name: 'A', city: 'Olinda', utmSource: 'meta' });
    const second = await submission(id, 2, { city: 'Recife', utmSource: 'google' });
    const touch = (values: object, { id, order }: typeof first) => {
      return { values, submissionId: id, stamp: order, order };
    };
    await store.prisma.lead.update({
      where: { workspaceId_id: { workspaceId, id } },
      data: {
        name: 'A',
        city: 'Recife',
        provenance: [
          [first.id, first.order, first.order, 'name'],
          [second.id, second.order, second.order, 'city'],
        ],
        firstTouch: touch({ utmSource: 'meta' }, first),
        lastTouch: touch({ utmSource: 'google', utmMedium: 'cpc' }, second),
        creatorId: first.id,
        creatorOrder: first.order,
        customFields: { [randomUUID()]: 0 },
      },
    });
    const shown = await showLead(store, id, { historyLimit: 10 });
    expect(shown).toMatchObject({
      utmSource: 'google',
      utmMedium: 'cpc',
      createdBy: first.id,
      createdAt: '2026-11-27T12:01:00.000Z',
      provenance: {
        name: { submissionId: first.id, at: '2026-11-27T12:01:00.000Z' },
        city: { submissionId: second.id, at: '2026-11-27T12:02:00.000Z' },
      },
      firstTouch: { utmSource: 'meta', submissionId: first.id },
      lastTouch: { utmSource: 'google', utmMedium: 'cpc', submissionId: second.id },
    });
    expect(shown?.history.map(({ stands }) => stands)).toEqual([
      ['city', 'touch'],
      ['name', 'customFields'],
    ]);
  });

  test('a possible duplicate is named from both sides, until the pair is merged', async () => {
    const [a, b] = [await lead({ name: 'A' }), await lead({ name: 'B' })].toSorted();
    if (a === undefined || b === undefined) throw new Error('no leads');
    await store.prisma.possibleDuplicate.create({ data: { workspaceId, leadA: a, leadB: b } });
    const pairOf = async (id: string) =>
      (await showLead(store, id, { historyLimit: 1 }))?.possibleDuplicates;
    expect(await pairOf(a)).toMatchObject([{ leadId: b }]);
    expect(await pairOf(b)).toMatchObject([{ leadId: a }]);
    await store.prisma.lead.update({
      where: { workspaceId_id: { workspaceId, id: a } },
      data: { mergedInto: b },
    });
    expect(await pairOf(a)).toEqual([]);
  });

  test('a history longer than asked for is cut, and its length told', async () => {
    const id = await lead();
    for (const minute of [1, 2, 3]) await submission(id, minute);
    const shown = await showLead(store, id, { historyLimit: 2 });
    expect(shown?.history).toHaveLength(2);
    expect(shown?.submissions).toBe(3);
  });

  test('an id that no lead has is a null', async () => {
    expect(await showLead(store, randomUUID(), { historyLimit: 1 })).toBeNull();
  });
});

describe('findLeads', () => {
  const ids = async (search: Parameters<typeof findLeads>[1]) =>
    (await findLeads(store, { workspaceId, ...search }, 50)).map(({ leadId }) => leadId);

  test('an identity finds its lead, one that an alias still holds too, and no other lead', async () => {
    const id = await lead({ email: 'new@example.com' });
    const alias = await lead({ mergedInto: id });
    await lead({ email: 'old@example.com' });
    await identity('email:old@example.com', alias);
    const identities = [{ workspaceId, key: 'email:old@example.com' }];
    expect(await ids({ identities, email: 'old@example.com' })).toEqual([id]);
  });

  test('an email or phone that identifies nobody (a dummy) is found on the lead itself', async () => {
    const id = await lead({ telephone: '11999999999', email: 'shared@example.com' });
    expect(await ids({ telephone: '11999999999' })).toEqual([id]);
    expect(await ids({ email: 'shared@example.com' })).toEqual([id]);
  });

  test('a name is found by its words in any order, case and accents aside', async () => {
    const id = await lead({ name: 'João Sebastião da Conceição' });
    await lead({ name: 'Maria da Conceição' });
    expect(await ids({ name: 'conceicao JOAO' })).toEqual([id]);
    expect(await ids({ name: 'JOA\u0303O' })).toEqual([id]);
    expect(await ids({ name: 'João Maria' })).toEqual([]);
  });

  test('what SQL takes for a wildcard is text', async () => {
    const id = await lead({ name: '100% Ana_Maria \\o/' });
    await lead({ name: 'Ana Maria' });
    expect(await ids({ name: '%' })).toEqual([id]);
    expect(await ids({ name: 'ana_maria' })).toEqual([id]);
    expect(await ids({ name: '\\o/' })).toEqual([id]);
  });

  test('an alias id finds its lead, and aliases are never listed themselves', async () => {
    const id = await lead({ name: 'Ana' });
    const alias = await lead({ mergedInto: id, name: 'Ana' });
    expect(await ids({ leadId: alias })).toEqual([id]);
    expect(await ids({ name: 'Ana' })).toEqual([id]);
  });

  test('another workspace is not searched when one is named', async () => {
    const id = await lead({ name: 'Only here' });
    const elsewhere = await findLeads(store, { workspaceId: randomUUID(), leadId: id }, 50);
    expect(elsewhere).toEqual([]);
    expect(await findLeads(store, { leadId: id }, 50)).toHaveLength(1);
  });

  test('nothing to look for finds nothing', async () => {
    await lead();
    expect(await ids({})).toEqual([]);
    expect(await ids({ name: ' ' })).toEqual([]);
  });
});

describe('submissions', () => {
  test('are listed newest first, page by page, without a gap or a repeat', async () => {
    const id = await lead();
    const stored = [];
    for (const minute of [1, 2, 3, 4, 5]) stored.push((await submission(id, minute)).id);
    const seen: string[] = [];
    let before: string | undefined;
    for (;;) {
      const filter = { workspaceId, ...(before !== undefined && { before }) };
      const page = await listSubmissions(store, filter, 2);
      if (page.length === 0) break;
      seen.push(...page.map(({ submissionId }) => submissionId));
      before = seen.at(-1);
    }
    expect(seen).toEqual(stored.toReversed());
  });

  test('of a lead are those of all its ids, and each names the lead it belongs to today', async () => {
    const id = await lead();
    const alias = await lead({ mergedInto: id });
    const a = await submission(alias, 1);
    const b = await submission(id, 2);
    await submission(await lead(), 3);
    for (const asked of [id, alias])
      expect(await listSubmissions(store, { leadId: asked }, 10)).toMatchObject([
        { submissionId: b.id, leadId: id },
        { submissionId: a.id, leadId: id },
      ]);
    expect(await listSubmissions(store, { linkId: LINK, workspaceId }, 10)).toHaveLength(3);
    expect(await listSubmissions(store, { linkId: randomUUID() }, 10)).toEqual([]);
  });

  test('one is shown with its body as sent', async () => {
    const id = await lead();
    const { id: submissionId } = await submission(id, 1, { name: 'Ana' });
    expect(await showSubmission(store, submissionId)).toMatchObject({
      submissionId,
      leadId: id,
      reservedFor: id,
      answeredLeadId: null,
      acceptedAt: '2026-11-27T12:01:00.000Z',
      identities: [['email:ana@example.com', id]],
      body: '{"name":"Ana"}',
      bodyType: 'json',
      page: 'https://a.example/lp',
    });
    expect(await showSubmission(store, randomUUID())).toBeNull();
  });
});
