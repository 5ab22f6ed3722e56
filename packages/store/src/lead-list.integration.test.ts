import { testDatabase } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Prisma } from './generated/client.ts';
import { exportLeads, listLeads, type LeadFilter } from './leads.ts';
import { openStore, type Store } from './open-store.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
const workspaceId = randomUUID();
const fieldId = randomUUID();
const LINK = randomUUID();

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 2 });
  await store.prisma.workspace.create({ data: { id: workspaceId, name: workspaceId } });
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

const NOON = Date.UTC(2026, 10, 27, 12);

async function lead(name: string, minutes: number, more: Partial<Prisma.LeadUncheckedCreateInput>) {
  const createdAt = new Date(NOON + minutes * 60_000);
  const id = randomUUID();
  await store.prisma.lead.create({ data: { workspaceId, id, name, createdAt, ...more } });
  return id;
}

async function submission(leadId: string, more: Partial<Prisma.SubmissionUncheckedCreateInput>) {
  const order = BigInt(NOON) * 1_000n;
  const fixed = { workspaceId, linkId: randomUUID(), leadId, order, stamp: order, source: 'post' };
  const sent = { identities: [], lead: {}, body: '{}', bodyType: 'json' };
  await store.prisma.submission.create({ data: { id: randomUUID(), ...fixed, ...sent, ...more } });
}

const names = async (filter: Omit<LeadFilter, 'workspaceId'>): Promise<string[]> => {
  const found: string[] = [];
  for await (const page of exportLeads(store, { workspaceId, ...filter }))
    found.push(...page.flatMap(({ name = '' }) => name));
  const { leads } = await listLeads(store, { workspaceId, ...filter }, { limit: 100 });
  expect(leads.map(({ name }) => name).toSorted()).toEqual(found.toSorted());
  return leads.map(({ name = '' }) => name);
};

test('a list and an export of one filter have the same leads, and each filter finds its own', async () => {
  const first = randomUUID();
  await lead('Ana', 1, { telephone: '5511987654321', email: 'ana@example.com', creatorId: first });
  const bia = await lead('Bia', 2, { customFields: { [fieldId]: ['ouro', 'prata'] } });
  await lead('Caio', 3, { customFields: { [fieldId]: 42 }, email: 'caio@example.com' });
  const alias = await lead('Alias', 4, { mergedInto: bia });
  await lead('Erased', 5, { erasedOrder: 1 });
  await submission(alias, { linkId: LINK, notes: [{ field: '/x', code: 'unknown-key' }] });

  expect(await names({})).toEqual(['Caio', 'Bia', 'Ana']);
  expect(await names({ linkId: LINK })).toEqual(['Bia']);
  expect(await names({ note: 'unknown-key' })).toEqual(['Bia']);
  expect(await names({ came: 'again' })).toEqual(['Bia']);
  expect(await names({ came: 'once' })).toEqual(['Caio', 'Ana']);
  expect(await names({ field: { id: fieldId, value: 'prata' } })).toEqual(['Bia']);
  expect(await names({ field: { id: fieldId, value: '42' } })).toEqual(['Caio']);
  expect(await names({ field: { id: fieldId, value: 'our' } })).toEqual([]);
  expect(await names({ telephone: true })).toEqual(['Ana']);
  expect(await names({ telephone: false, email: true })).toEqual(['Caio']);
  expect(await names({ since: new Date(NOON + 120_000) })).toEqual(['Caio', 'Bia']);
  expect(await names({ until: new Date(NOON + 120_000) })).toEqual(['Ana']);
});

test('pages have every lead once, also of one moment, while leads come in and change', async () => {
  for (let n = 0; n < 7; n += 1) await lead(`Same ${n}`, 60, {});
  const seen: string[] = [];
  let after: string | undefined;
  for (;;) {
    const page = await listLeads(store, { workspaceId }, { limit: 3, ...(after && { after }) });
    seen.push(...page.leads.map(({ name = '' }) => name));
    await lead(`Late ${seen.length}`, 90, {});
    await store.prisma.lead.updateMany({ where: { workspaceId }, data: { updatedAt: new Date() } });
    if (page.next === null) break;
    after = page.next;
  }
  expect(seen.slice(7)).toEqual(['Caio', 'Bia', 'Ana']);
  expect(seen.slice(0, 7).toSorted()).toEqual([0, 1, 2, 3, 4, 5, 6].map((n) => `Same ${n}`));
});

test('a page that finds nothing in its time says where to go on', async () => {
  await store.prisma.$executeRaw`
    INSERT INTO lead (workspace_id, id, created_at)
    SELECT ${workspaceId}::uuid, gen_random_uuid(), ${new Date(NOON + 6e6)} FROM generate_series(1, 20100)`;
  const wanted = { workspaceId, telephone: true };
  const page = await listLeads(store, wanted, { limit: 10, withinMs: 0 });
  expect(page.leads).toEqual([]);
  const rest = await listLeads(store, wanted, { limit: 10, after: page.next ?? '' });
  expect(rest.leads.map(({ name }) => name)).toEqual(['Ana']);
  expect(rest.next).toBeNull();
});
