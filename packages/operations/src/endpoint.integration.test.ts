import { randomUUID } from 'node:crypto';
import { Keyring } from '@leadgate/boot';
import { createWorkspace, listAudit, openStore, type Store } from '@leadgate/store';
import { testDatabase } from '@leadgate/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { endpoint } from './endpoint.ts';
import { Refusal, type Call, type Connections, type DeliverySettings } from './operation.ts';
import { runOperation } from './run.ts';
import { run, Runner } from './runs.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let workspaceId: string;
let deliveries: DeliverySettings;
let keyring: Keyring | null;
beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 2 });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});
beforeEach(async () => {
  deliveries = { allowNetworks: [] };
  keyring = new Keyring('a key of thirty-two characters or more');
  const name = randomUUID().replaceAll('-', ' ');
  const made = await createWorkspace(store, { name, country: 'BR', dummyPhones: [] });
  if (made.kind !== 'created') throw new Error(made.kind);
  workspaceId = made.workspace.id;
});

const unused = () => Promise.reject(new Error('not used'));
const connections = (): Connections => ({
  store,
  ...{
    redis: unused,
    failed: unused,
    intake: unused,
    keyring: () => Promise.resolve(keyring),
    receiverUrl: null,
  },
  ...{ erasureLedger: null, consentKey: null, runner: new Runner() },
  deliveries: () => Promise.resolve(deliveries),
});
const call = (role: 'operator' | 'administrator' = 'administrator'): Call => ({
  actor: { kind: 'token', name: 'test', role, workspaces: [] },
  requestId: null,
  signal: new AbortController().signal,
  warn: () => undefined,
});

const create = (given: object = {}, as = call()) =>
  runOperation(
    endpoint.create,
    { workspaceId, name: 'crm', url: 'https://crm.example/hook', ...given },
    connections(),
    as,
  );

test.each([
  ['http://crm.example/hook', 'scheme'],
  ['https://10.1.2.3/hook', 'inside'],
  ['https://0x7f000001/', 'inside'],
  ['https://localhost/', 'inside'],
  ['https://me:secret@crm.example/', 'credentials'],
  ['crm.example', 'not-a-url'],
])('%s is refused, and why is said: %s', async (url, code) => {
  expect(await create({ url })).toMatchObject({
    ...{ code: 'invalid', errors: [{ pointer: '/url', code }] },
  });
});

test('networks that are named for this process may be called', async () => {
  deliveries = { ...deliveries, allowNetworks: ['10.0.0.0/8'] };
  expect(await create({ url: 'http://10.1.2.3/hook' })).toMatchObject({ state: 'active' });
});

test('all that is wrong is named at once', async () => {
  const headers = { Host: 'x', 'webhook-id': 'x', 'a b': 'x', 'x-key': 'é', authorization: 'ok' };
  const refusal = await create({ url: 'ftp://x/', headers, perSecond: 2.5 });
  expect(refusal).toMatchObject({
    errors: [
      { pointer: '/url' },
      { pointer: '/headers/Host', code: 'not-allowed' },
      { pointer: '/headers/webhook-id', code: 'not-allowed' },
      { pointer: '/headers/a b', code: 'invalid' },
      { pointer: '/headers/x-key', code: 'invalid' },
      { pointer: '/perSecond' },
    ],
  });
});

test('a secret is shown once, and neither it nor a header is in the list or the audit log', async () => {
  const made = await create({ headers: { Authorization: 'Bearer hunter2' } });
  if (made instanceof Refusal) throw new Error(made.detail);
  expect(made.secret).toMatch(/^whsec_/);
  expect(made.headers).toEqual(['authorization']);
  const rotated = await runOperation(
    endpoint.rotate,
    { endpointId: made.id },
    connections(),
    call(),
  );
  if (rotated instanceof Refusal) throw new Error(rotated.detail);
  expect(rotated.secret).not.toBe(made.secret);
  expect(rotated.oldSecretUntil).not.toBeNull();
  const seen = JSON.stringify([
    await runOperation(endpoint.list, { workspaceId }, connections(), call()),
    await runOperation(endpoint.show, { endpointId: made.id }, connections(), call()),
    await listAudit(store, { limit: 100 }),
  ]);
  for (const secret of [made.secret, rotated.secret, 'hunter2']) expect(seen).not.toContain(secret);
  expect(seen).toContain('endpoint.create');
});

test('an operator pauses, resumes and tests; who is told is an administrator’s to say', async () => {
  expect(await create({}, call('operator'))).toMatchObject({ code: 'not-allowed' });
  const made = await create();
  if (made instanceof Refusal) throw new Error(made.detail);
  const endpointId = made.id;
  const as = call('operator');
  expect(await runOperation(endpoint.pause, { endpointId }, connections(), as)).toMatchObject({
    state: 'paused',
  });
  expect(await runOperation(endpoint.resume, { endpointId }, connections(), as)).toMatchObject({
    state: 'active',
  });
  const removed = await runOperation(endpoint.remove, { endpointId }, connections(), as);
  expect(removed).toMatchObject({ code: 'not-allowed' });
  expect(await runOperation(endpoint.remove, { endpointId }, connections(), call())).toBeNull();
  expect(await runOperation(endpoint.test, { endpointId }, connections(), as)).toMatchObject({
    code: 'not-found',
  });
});

test('what is named changes, the rest stays, and a taken name is refused', async () => {
  const made = await create();
  if (made instanceof Refusal) throw new Error(made.detail);
  const set = (changes: object) =>
    runOperation(endpoint.set, { endpointId: made.id, ...changes }, connections(), call());
  expect(await set({ perSecond: 2, events: ['lead.created'] })).toMatchObject({
    ...{ perSecond: 2, events: ['lead.created'], url: made.url, name: 'crm', concurrency: 8 },
  });
  expect(await set({})).toMatchObject({ code: 'invalid' });
  expect(await set({ events: ['lead.deleted'] })).toMatchObject({ code: 'invalid' });
  await create({ name: 'other' });
  expect(await set({ name: 'other' })).toMatchObject({ code: 'conflict' });
});

test('without a key nothing is encrypted, and nothing is made', async () => {
  keyring = null;
  expect(await create()).toMatchObject({ code: 'unavailable' });
});

test('what is sent again is a run, which shows how far it is, stops and goes on', async () => {
  const made = await create();
  if (made instanceof Refusal) throw new Error(made.detail);
  const endpointId = made.id;
  const leadIds = Array.from({ length: 5_010 }, () => randomUUID()).toSorted();
  await store.prisma.delivery.createMany({
    data: leadIds.map((leadId) => ({
      ...{ endpointId, leadId, workspaceId, event: 'lead.updated', version: 1 },
      deliveredAt: new Date(Date.now() - 60_000),
    })),
  });
  const runner = new Runner();
  const own = { ...connections(), runner };
  const begun = await runOperation(endpoint.resend, { endpointId }, own, call('operator'));
  if (begun instanceof Refusal) throw new Error(begun.detail);
  expect(begun).toMatchObject({ kind: 'resend', workspaceId });
  const shown = async () => {
    const found = await runOperation(run.show, { runId: begun.id }, own, call());
    if (found instanceof Refusal) throw new Error(found.detail);
    return found;
  };
  await expect.poll(async () => (await shown()).state).toBe('done');
  expect(await shown()).toMatchObject({ progress: { resent: 5_010 } });
  const waiting = () => store.prisma.delivery.count({ where: { endpointId, resends: 1 } });
  expect(await waiting()).toBe(5_010);

  // Stopped after the first step, it goes on after it.
  await store.prisma.delivery.updateMany({ where: { endpointId }, data: { resends: 0 } });
  await store.prisma.$executeRaw`
    UPDATE run SET state = 'stopped', cursor = ${leadIds[4_999]}, progress = '{"resent": 5000}'
    WHERE id = ${begun.id}::uuid`;
  await runOperation(run.resume, { runId: begun.id }, own, call());
  await expect.poll(async () => (await shown()).state).toBe('done');
  expect(await shown()).toMatchObject({ progress: { resent: 5_010 } });
  expect(await waiting()).toBe(10);
  await runner.close();
});

test('HubSpot is called with a token, which is not shown; what belongs to another kind is refused', async () => {
  const hub = { name: 'hub', url: undefined, kind: 'hubspot' as const };
  expect(await create(hub)).toMatchObject({ errors: [{ pointer: '/token', code: 'required' }] });
  const mapping = { lastname: ['$.name'], x: ['$..a..b'] };
  expect(await create({ ...hub, token: 'pat-1', mapping })).toMatchObject({
    errors: [{ pointer: '/mapping/x' }, { pointer: '/mapping/email', code: 'required' }],
  });
  const made = await create({ ...hub, token: 'pat-1' });
  expect(made).toMatchObject({
    ...{ kind: 'hubspot', url: 'https://api.hubapi.com', perSecond: 5, secret: null },
  });
  if (made instanceof Refusal) throw new Error(made.detail);
  const endpointId = made.id;
  const run = (given: object) =>
    runOperation(endpoint.set, { endpointId, ...given }, connections(), call());
  const sealed = async () =>
    Buffer.from(
      (await store.prisma.endpoint.findUniqueOrThrow({ where: { id: endpointId } })).secret,
    );
  const before = await sealed();
  const changed = await run({ token: 'pat-2', mapping: { email: ['$.email'] } });
  expect(changed).toMatchObject({ mapping: { email: ['$.email'] } });
  expect(await sealed()).not.toEqual(before);
  expect(JSON.stringify([made, changed, await listAudit(store, { limit: 9 })])).not.toContain(
    'pat-',
  );
  expect(await run({ mapping: null })).toMatchObject({ mapping: null });
  expect(await runOperation(endpoint.rotate, { endpointId }, connections(), call())).toMatchObject({
    code: 'conflict',
  });

  // Neither the token nor a header goes to another place than the one it was given for.
  const url = 'https://api.hubapi.example';
  expect(await run({ url: 'https://api.hubapi.com/v2' })).toMatchObject({ kind: 'hubspot' });
  expect(await run({ url })).toMatchObject({ errors: [{ pointer: '/token', code: 'required' }] });
  expect(await run({ url, token: 'pat-3', headers: { 'x-key': '1' } })).toMatchObject({ url });
  expect(await run({ url: 'https://other.example', token: 'pat-4' })).toMatchObject({
    errors: [{ pointer: '/headers', code: 'required' }],
  });

  const wrong = await create({ token: 'pat-1', mapping: {} });
  expect(wrong).toMatchObject({ errors: [{ pointer: '/token' }, { pointer: '/mapping' }] });
  expect(await create({ url: undefined })).toMatchObject({ errors: [{ pointer: '/url' }] });
});
