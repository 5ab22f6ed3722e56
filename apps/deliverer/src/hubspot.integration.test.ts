import { randomUUID } from 'node:crypto';
import { createLogger, Keyring, readConfig } from '@leadgate/boot';
import { LEAD_EVENTS, type Lead } from '@leadgate/contract';
import { DESTINATIONS, HUBSPOT_PER_SECOND } from '@leadgate/delivery';
import {
  applyGroup,
  askEndpointTest,
  createEndpoint,
  erasePerson,
  erasureKeyOf,
  listDeliveries,
  mergeLeads,
  openStore,
  splitLead,
  takeLanes,
  type EndpointSettings,
  type Store,
} from '@leadgate/store';
import { keysOf, sampleSubmission, startFakeHubSpot, testDatabase } from '@leadgate/testkit';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { DelivererConfig } from './config.ts';
import { startDeliverer } from './start-deliverer.ts';

const TOKEN = 'pat-na1-token-of-the-tests';
const SECRETS_KEY = 'a key of thirty-two characters or more';

const closes: (() => unknown)[] = [];
let databaseUrl: string;
let store: Store;
let workspaceId: string;
beforeEach(async () => {
  const database = await testDatabase();
  databaseUrl = database.url;
  closes.push(() => database.drop());
  const erasureKey = erasureKeyOf('a key of thirty-two characters or more');
  store = openStore({ url: databaseUrl, poolSize: 4, erasureKey });
  closes.push(() => store.close());
  workspaceId = randomUUID();
  await store.prisma.workspace.create({ data: { id: workspaceId, name: 'Agency' } });
});
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});

async function fakeHubSpot() {
  const hub = await startFakeHubSpot(TOKEN);
  closes.push(hub.close);
  return hub;
}

async function endpoint(url: string, given: Partial<EndpointSettings> = {}, secret = TOKEN) {
  const made = await createEndpoint(
    store,
    workspaceId,
    {
      ...{ name: 'hub', url, headers: {}, events: [...LEAD_EVENTS], linkIds: [], mapping: null },
      ...{ perSecond: HUBSPOT_PER_SECOND, concurrency: 4, ...given },
    },
    { kind: 'hubspot', secret, keyring: new Keyring(SECRETS_KEY) },
  );
  if (made.kind !== 'done') throw new Error(made.kind);
  return made.endpoint.id;
}

async function deliverer(env: Record<string, string> = {}): Promise<void> {
  const config = readConfig(DelivererConfig, {
    ...{ DATABASE_URL: databaseUrl, SECRETS_KEY, DELIVERER_HOST: '127.0.0.1' },
    ...{ DELIVERER_PORT: '0', DELIVERY_ALLOW_NETWORKS: '127.0.0.0/8', ...env },
  });
  await startDeliverer(config, {
    logger: createLogger({ name: 'deliverer', level: 'fatal' }),
    onClose: (_, close) => closes.push(close),
  });
}

let n = 0;
async function post(
  leadId: string,
  { telephone, ...lead }: Lead,
  order = 1_800_000_000_000_000 + (n += 1) * 1_000,
): Promise<void> {
  const identities = keysOf(lead).map((key) => ({ key, owner: leadId }));
  const submission = sampleSubmission(n, {
    ...{ id: randomUUID(), workspaceId, leadId, order, stamp: order, identities },
    lead: { ...lead, ...(telephone !== undefined && { telephone }) },
  });
  await applyGroup(store, [{ submission, replay: false }]);
}

async function erase(leadId: string): Promise<void> {
  const request = {
    ...{ workspaceId, leadIds: [leadId], offeredLeadId: leadId, identities: [], order: 1 },
    ...{ reason: 'a test', erasedBy: 'tests', erasedAt: new Date() },
  };
  await erasePerson(store, request, { dryRun: false, record: () => Promise.resolve() });
}

const tries = () => store.prisma.deliveryAttempt.findMany({ orderBy: { id: 'asc' } });

/** What waits for its time does not. */
const dueNow = () => store.prisma.$executeRaw`
  WITH due AS (UPDATE delivery SET due_at = now() WHERE due_at IS NOT NULL RETURNING 1)
  SELECT pg_notify('leadgate_deliveries', '') FROM due`;

const nothingWaits = () =>
  vi.waitFor(
    async () =>
      expect(await store.prisma.delivery.count({ where: { dueAt: { not: null } } })).toBe(0),
    15_000,
  );

test('a lead is one contact by its email however often it changes, at the pace of the place, and none without an email', async () => {
  const hub = await fakeHubSpot();
  await endpoint(hub.url);
  const people = Array.from({ length: 12 }, (_, at) => ({ id: randomUUID(), at }));
  for (const name of ['Ana', 'Bia', 'Caio'])
    await Promise.all(
      people.map(({ id, at }) =>
        post(id, { email: `p${at}@example.com`, name, telephone: '5511988880000', state: 'SP' }),
      ),
    );
  await post(randomUUID(), { name: 'Nobody' });
  await deliverer();
  await nothingWaits();
  expect(hub.properties()).toHaveLength(12);
  for (const properties of hub.properties())
    expect(properties).toMatchObject({ firstname: 'Caio', phone: '5511988880000', state: 'SP' });
  expect(hub.times).toHaveLength(12);
  expect(hub.refused).toEqual([]);
  for (const at of hub.times)
    expect(hub.times.filter((other) => other >= at && other < at + 1_000).length).toBeLessThan(6);
  const outcomes = (await tries()).map(({ outcome }) => outcome);
  expect(outcomes.filter((one) => one === 'skipped')).toHaveLength(1);
  // Who asks is told whom a person was sent to.
  expect(await store.prisma.delivery.count({ where: { deliveredAt: null } })).toBe(1);
}, 30_000);

test('the mapping says what is sent; an erased lead is deleted there; what is wrong is said in its words', async () => {
  const hub = await fakeHubSpot();
  const mapping = { email: ['$.email'], lastname: ['$.customFields.surname', '$.name'] };
  const id = await endpoint(hub.url, { mapping });
  await deliverer();
  const leadId = randomUUID();
  await post(leadId, { email: 'ana@example.com', name: 'Ana', city: 'Recife' });
  await nothingWaits();
  expect(hub.properties()).toEqual([{ email: 'ana@example.com', lastname: 'Ana' }]);
  const contact = hub.contacts.get('ana@example.com')?.id;

  await askEndpointTest(store, id, randomUUID());
  await vi.waitFor(async () =>
    expect((await tries()).at(-1)).toMatchObject({ event: 'endpoint.test', status: 200 }),
  );
  await erase(leadId);
  await nothingWaits();
  expect([hub.deleted, hub.properties()]).toEqual([[contact], []]);

  const unknown = { data: { mapping: { ...mapping, plan: ['$.name'] } }, where: { id } };
  await store.prisma.endpoint.update(unknown);
  await post(randomUUID(), { email: 'bia@example.com', name: 'Bia' });
  await vi.waitFor(async () =>
    expect((await tries()).at(-1)).toMatchObject({
      ...{ outcome: 'answered', status: 400 },
      detail: expect.stringContaining('PROPERTY_DOESNT_EXIST plan') as string,
    }),
  );
  expect(
    JSON.stringify(await tries(), (_, v: unknown) => (typeof v === 'bigint' ? '' : v)),
  ).not.toMatch(/bia@example|pat-na1/i);
}, 30_000);

test('of leads that were merged each contact is deleted when the person is erased', async () => {
  const hub = await fakeHubSpot();
  await endpoint(hub.url);
  await deliverer();
  const [keep, other] = [randomUUID(), randomUUID()];
  await post(keep, { email: 'ana@example.com', name: 'Ana' });
  await post(other, { email: 'ana@work.example', name: 'Ana Lima' });
  await nothingWaits();
  const contacts = [...hub.contacts.values()].map(({ id }) => id).sort();
  expect(contacts).toHaveLength(2);

  await mergeLeads(store, workspaceId, keep, other);
  await nothingWaits();
  expect(hub.deleted).toEqual([]);
  await erase(keep);
  await nothingWaits();
  expect([hub.deleted.toSorted(), hub.properties()]).toEqual([contacts, []]);
}, 30_000);

test('of a lead whose email changed each contact is deleted too', async () => {
  const hub = await fakeHubSpot();
  await endpoint(hub.url);
  await deliverer();
  const leadId = randomUUID();
  for (const email of ['a@example.com', 'b@example.com', 'c@example.com', 'b@example.com']) {
    await post(leadId, { email, name: 'Ana' });
    await nothingWaits();
  }
  const contacts = [...hub.contacts.values()].map(({ id }) => id).sort();
  expect(contacts).toHaveLength(3);
  expect(await store.prisma.delivery.findMany()).toMatchObject([{ remoteIds: contacts }]);
  await erase(leadId);
  await nothingWaits();
  expect([hub.deleted.toSorted(), hub.properties()]).toEqual([contacts, []]);
  expect(await store.prisma.delivery.findMany()).toMatchObject([{ remoteIds: [] }]);
}, 30_000);

test.each(['before', 'after'])(
  'what had no answer and is taken %s the person is erased does not stay',
  async (when) => {
    const hub = await fakeHubSpot();
    const id = await endpoint(hub.url);
    await deliverer({ DELIVERY_TIMEOUT_MS: '200' });
    const leadId = randomUUID();
    const late: (() => void)[] = [];
    hub.holdWith((take) => void late.push(take));
    await post(leadId, { email: 'ana@example.com', name: 'Ana' });
    await vi.waitFor(async () => expect(await tries()).toMatchObject([{ outcome: 'timeout' }]));
    hub.holdWith(null);
    if (when === 'before') for (const take of late) take();
    await store.prisma.endpoint.updateMany({ data: { state: 'paused' } });
    await erase(leadId);
    // Nothing of a person is shown in lists.
    expect(await listDeliveries(store, id, { limit: 1 })).toMatchObject([{ remoteIds: [] }]);
    await store.prisma.endpoint.updateMany({ data: { state: 'active' } });
    await vi.waitFor(async () => expect(await tries()).toHaveLength(2), 10_000);
    if (when === 'after') for (const take of late) take();
    await dueNow();
    await nothingWaits();
    expect(hub.properties()).toEqual([]);
    expect(await store.prisma.delivery.findMany()).toMatchObject([{ remoteIds: [] }]);
  },
  30_000,
);

test('what was on its way as its lead was merged into another does not stay when the person is erased', async () => {
  const hub = await fakeHubSpot();
  await endpoint(hub.url);
  await deliverer({ DELIVERY_TIMEOUT_MS: '500' });
  const [keep, other] = [randomUUID(), randomUUID()];
  await post(keep, { email: 'ana@example.com', name: 'Ana' });
  await nothingWaits();
  const late: (() => void)[] = [];
  hub.holdWith((take) => void late.push(take));
  await post(other, { email: 'ana@work.example', name: 'Ana Lima' }, 1_700_000_000_000_000);
  await vi.waitFor(() => expect(late).toHaveLength(1));
  hub.holdWith(null);
  await mergeLeads(store, workspaceId, keep, other);
  for (const take of late) take();
  // The other one may have been told something else of the same contact meanwhile.
  await vi.waitFor(async () => expect(await tries()).toHaveLength(3), 10_000);
  const [waiting] = await store.prisma.delivery.findMany();
  expect(waiting?.dueAt?.getTime()).toBeGreaterThan(Date.now() + 30_000);
  expect(hub.properties()).toHaveLength(2);
  await erase(keep);
  await dueNow();
  await nothingWaits();
  expect(hub.properties()).toEqual([]);
}, 30_000);

test('what a deliverer that died was sending does not stay when the person is erased before another one comes', async () => {
  const hub = await fakeHubSpot();
  await endpoint(hub.url);
  const leadId = randomUUID();
  await post(leadId, { email: 'ana@example.com', name: 'Ana' });
  await takeLanes(store, randomUUID(), { leaseMs: 0, limit: 1 });
  const properties = { email: 'ana@example.com', firstname: 'Ana' };
  await fetch(`${hub.url}/crm/v3/objects/contacts/batch/upsert`, {
    ...{ method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } },
    body: JSON.stringify({ inputs: [{ idProperty: 'email', id: 'ana@example.com', properties }] }),
  });
  expect(hub.properties()).toHaveLength(1);
  await erase(leadId);
  await deliverer();
  await vi.waitFor(async () => expect(await tries()).not.toHaveLength(0), 10_000);
  await dueNow();
  await nothingWaits();
  expect(hub.properties()).toEqual([]);
}, 30_000);

test('a person who was taken for another one stays when that one is erased', async () => {
  const hub = await fakeHubSpot();
  await endpoint(hub.url);
  await deliverer();
  const leadId = randomUUID();
  for (const email of ['ana@example.com', 'bia@example.com']) {
    await post(leadId, { email, name: email });
    await nothingWaits();
  }
  await splitLead(store, workspaceId, leadId, []);
  await nothingWaits();
  await erase(leadId);
  await nothingWaits();
  expect(hub.properties()).toEqual([{ email: 'bia@example.com', firstname: 'bia@example.com' }]);
}, 30_000);

test('what is taken late, after newer news, does not stay: the lead is sent once more', async () => {
  const hub = await fakeHubSpot();
  await endpoint(hub.url);
  await deliverer({ DELIVERY_TIMEOUT_MS: '200' });
  const leadId = randomUUID();
  const late: (() => void)[] = [];
  hub.holdWith((take) => void late.push(take));
  await post(leadId, { email: 'ana@example.com', name: 'Old' });
  await vi.waitFor(async () => expect(await tries()).toMatchObject([{ outcome: 'timeout' }]));
  hub.holdWith(null);
  await post(leadId, { email: 'ana@example.com', name: 'New' });
  await dueNow();
  await vi.waitFor(() => expect(hub.properties()).toMatchObject([{ firstname: 'New' }]), 10_000);
  for (const take of late) take();
  expect(hub.properties()).toMatchObject([{ firstname: 'Old' }]);
  await vi.waitFor(async () => expect(await tries()).toHaveLength(2));
  const [waiting] = await store.prisma.delivery.findMany();
  const waitsMs = (waiting?.dueAt?.getTime() ?? 0) - Date.now();
  expect(waitsMs).toBeGreaterThan(50_000);
  await dueNow();
  await vi.waitFor(() => expect(hub.properties()).toMatchObject([{ firstname: 'New' }]), 10_000);
  await nothingWaits();
}, 30_000);

test('what a deliverer that died was sending, and is taken late, does not stay', async () => {
  const hub = await fakeHubSpot();
  await endpoint(hub.url);
  const leadId = randomUUID();
  await post(leadId, { email: 'ana@example.com', name: 'Old' });
  await takeLanes(store, randomUUID(), { leaseMs: 300, limit: 1 });
  const late: (() => void)[] = [];
  hub.holdWith((take) => void late.push(take));
  const properties = { email: 'ana@example.com', firstname: 'Old' };
  void fetch(`${hub.url}/crm/v3/objects/contacts/batch/upsert`, {
    ...{ method: 'POST', headers: { authorization: `Bearer ${TOKEN}` } },
    body: JSON.stringify({ inputs: [{ idProperty: 'email', id: 'ana@example.com', properties }] }),
  }).catch(() => null);
  await vi.waitFor(() => expect(late).toHaveLength(1));
  hub.holdWith(null);
  await post(leadId, { email: 'ana@example.com', name: 'New' });
  await deliverer();
  await vi.waitFor(() => expect(hub.properties()).toMatchObject([{ firstname: 'New' }]), 10_000);
  for (const take of late) take();
  expect(hub.properties()).toMatchObject([{ firstname: 'Old' }]);
  await vi.waitFor(async () => expect(await tries()).toHaveLength(1));
  await dueNow();
  await vi.waitFor(() => expect(hub.properties()).toMatchObject([{ firstname: 'New' }]), 10_000);
  await nothingWaits();
}, 30_000);

test('what its answers mean: limits by their name, each of a batch by itself, a wrong token', () => {
  const place = DESTINATIONS.hubspot({
    ...{ url: 'https://api.hubapi.com', headers: {}, secrets: [TOKEN], mapping: null },
  });
  const of = { id: 'msg', leadId: 'l', version: 1, timestamp: '', remoteIds: ['7'] };
  const read = (event: string, status: number, content: object) => {
    const request = place.lead({ ...of, event, data: { email: 'a@example.com' } });
    if (request.kind === 'skip') throw new Error(request.detail);
    const answer = JSON.stringify(content);
    return request.read({ kind: 'answered', status, answer, retryAfter: null, durationMs: 1 }, 0);
  };
  const rolling = { errorType: 'RATE_LIMIT', policyName: 'TEN_SECONDLY_ROLLING' };
  expect(read('lead.updated', 429, rolling).verdict).toEqual({ kind: 'later', afterMs: 10_000 });
  expect(read('lead.updated', 429, { ...rolling, policyName: 'DAILY' }).verdict).toEqual({
    ...{ kind: 'later', afterMs: 3_600_000 },
  });
  const taken = { status: 'COMPLETE', results: [{ id: '42' }] };
  expect(read('lead.updated', 200, taken)).toEqual({
    ...{ verdict: { kind: 'delivered' }, remoteId: '42' },
  });
  for (const id of ['4\u00002', '\ud800', { id: '42' }])
    expect(read('lead.updated', 200, { results: [{ id }] })).toMatchObject({ remoteId: null });
  const mixed = { results: [], numErrors: 1, errors: [{ category: 'VALIDATION_ERROR' }] };
  for (const [status, content] of [
    [207, mixed],
    [401, {}],
    [403, {}],
    [410, {}],
  ] as const)
    expect(read('lead.updated', status, content).verdict).toEqual({ kind: 'failed' });
  // Of a contact that is gone already nothing is left to delete.
  expect(read('lead.erased', 404, {}).verdict).toEqual({ kind: 'delivered' });
});
