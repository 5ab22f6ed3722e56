import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { allOperations, pathMembers } from '@leadgate/operations';
import { applyGroup, listAudit, mergeLeads } from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { consoleUnderTest, type Ask, type ConsoleUnderTest } from '../test/console.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let console_: ConsoleUnderTest;
let administrator: Ask;
let folder: string;
let workspaceId: string;
let leadId: string;
let n = 0;

const EMAIL = 'marked@example.com';

beforeAll(async () => {
  database = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), 'leadgate-test-console-'));
  const redis = await testRedis();
  console_ = await consoleUnderTest({
    ...{ databaseUrl: database.url, redisUrl: redis.url },
    erasureLedger: join(folder, 'erasures.jsonl'),
  });
  administrator = await console_.withToken('administrator');
});
afterAll(async () => {
  await console_.close();
  await database.drop();
  await rm(folder, { recursive: true });
});
beforeEach(async () => {
  const workspace = await administrator('POST', '/api/workspaces', {
    payload: { name: `Agency ${(n += 1)}` },
  });
  workspaceId = workspace.json<{ id: string }>().id;
  leadId = randomUUID();
  const lead = { email: EMAIL, name: 'Marked Silva' };
  const identities = [{ key: `email:${EMAIL}`, owner: leadId }];
  const submission = sampleSubmission(n, { workspaceId, leadId, lead, identities });
  await applyGroup(console_.store, [{ submission, replay: false }]);
});

const erase = (payload: object, ask = administrator) =>
  ask('POST', `/api/workspaces/${workspaceId}/erasures`, { payload });
const show = async () => (await administrator('GET', `/api/leads/${leadId}`)).json<object>();

test('all that is known of a person is exported by an operator, with its meaning, on record', async () => {
  const [operator, viewer] = [
    await console_.withToken('operator'),
    await console_.withToken('viewer'),
  ];
  const url = `/api/leads/${leadId}/person`;
  expect((await viewer('GET', url)).statusCode).toBe(403);
  const answer = await operator('GET', url);
  expect(answer.statusCode).toBe(200);
  const known = answer.json<Record<string, unknown> & { meaning: object }>();
  expect(known).toMatchObject({
    lead: { email: EMAIL, identities: [{ value: EMAIL }] },
    submissions: [{ lead: { email: EMAIL }, body: expect.any(String) as unknown }],
    failed: [],
  });
  // Every part has a meaning, and every meaning a part.
  const { exportedAt: _, meaning, ...parts } = known;
  expect(Object.keys(meaning).sort()).toEqual(Object.keys(parts).sort());
  const [entry] = await listAudit(console_.store, { action: 'lead.person', limit: 1 });
  expect(entry).toMatchObject({ subject: { leadId } });
});

test('who reads a person unmasked is on record, whom they looked for as a keyed hash, and the person is told', async () => {
  const [operator, viewer] = [
    await console_.withToken('operator'),
    await console_.withToken('viewer'),
  ];
  const reads = async () =>
    (await administrator('GET', `/api/reads?leadId=${leadId}`)).json<
      { action: string; actor: { kind: string }; workspaceId: string | null }[]
    >();
  await viewer('GET', `/api/leads/${leadId}`);
  expect(await reads()).toEqual([]);
  await operator('GET', `/api/leads/${leadId}`);
  await operator('POST', '/api/leads/search', { payload: { email: EMAIL, workspaceId } });
  await operator('POST', '/api/leads/search', {
    payload: { email: 'nobody@example.com', workspaceId },
  });
  await operator('POST', `/api/workspaces/${workspaceId}/leads/export`, { payload: {} });
  expect((await reads()).map(({ action }) => action)).toEqual(['lead.find', 'lead.show']);
  const ofWorkspace = (await administrator('GET', '/api/reads?limit=3')).json<object[]>();
  expect(ofWorkspace).toMatchObject([
    { action: 'lead.export', workspaceId, leadIds: [] },
    { action: 'lead.find', workspaceId, leadIds: [] },
    { action: 'lead.find', workspaceId, leadIds: [leadId] },
  ]);
  expect((await operator('GET', '/api/reads')).statusCode).toBe(403);
  const rows = await console_.store.prisma.personRead.findMany({ where: { workspaceId } });
  expect(rows.map(({ sought }) => sought?.length ?? 0)).toEqual([32, 32, 0]);
  expect(JSON.stringify(rows.map(({ id: _, ...row }) => row))).not.toMatch(/marked|nobody/i);

  const known = (await operator('GET', `/api/leads/${leadId}/person`)).json<{ reads: object[] }>();
  expect(known.reads).toMatchObject([
    { action: 'lead.find', by: 'token' },
    { action: 'lead.show', by: 'token' },
  ]);
});

describe('an erasure through the API', () => {
  test('is counted by a dry run that changes nothing and is not on record', async () => {
    const answer = await erase({ email: EMAIL, reason: 'ticket 1', dryRun: true });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({ leadId, counts: { leads: 1, submissions: 1 } });
    expect(await show()).toMatchObject({ erased: false, email: EMAIL });
    const entries = await listAudit(console_.store, { action: 'lead.erase', limit: 10 });
    expect(entries).toEqual([]);
  });

  test('is done by id, is on record without the person, and the id says when and why', async () => {
    const answer = await erase({ leadId, reason: 'ticket 2' });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({ leadId, inLedger: true, counts: { identities: 1 } });
    const gone = await administrator('GET', `/api/leads/${leadId}`);
    expect([gone.statusCode, gone.headers['content-type']]).toEqual([
      410,
      'application/problem+json',
    ]);
    expect(gone.json()).toMatchObject({
      ...{ code: 'erased', status: 410 },
      erasure: { leadId, reason: 'ticket 2', at: expect.stringMatching(/^\d{4}-.*Z$/) as string },
    });
    const [entry] = await listAudit(console_.store, { action: 'lead.erase', limit: 10 });
    expect(entry).toMatchObject({ subject: { workspaceId, leadId }, outcome: 'done' });
    expect(await readFile(join(folder, 'erasures.jsonl'), 'utf8')).not.toMatch(/marked/i);
    const found = await administrator('POST', '/api/leads/search', {
      payload: { email: EMAIL, workspaceId },
    });
    expect(found.json()).toEqual([]);
  });

  test('has every operation that is asked about one of their ids answer when, why and by whom', async () => {
    // A merged id is theirs as well.
    const other = randomUUID();
    const lead = { email: `other-${EMAIL}` };
    const identities = [{ key: `email:${lead.email}`, owner: other }];
    const submission = sampleSubmission((n += 1), { workspaceId, leadId: other, lead, identities });
    await applyGroup(console_.store, [{ submission, replay: false }]);
    await mergeLeads(console_.store, workspaceId, leadId, other);
    await erase({ leadId, reason: 'ticket 8' });
    const alive = randomUUID();
    const kept = sampleSubmission((n += 1), {
      workspaceId,
      leadId: alive,
      lead: {},
      identities: [],
    });
    await applyGroup(console_.store, [{ submission: kept, replay: false }]);
    const [gone, left]: [string[], string[]] = [[], []];
    for (const { name, method, path, input, afterErasure } of await allOperations())
      for (const member of ['leadId', 'otherId'].filter((one) => one in input.properties)) {
        const ids: Record<string, string> = { workspaceId, leadId: alive, [member]: other };
        const url = path.replace(/:(\w+)/g, (_, one: string) => ids[one] ?? randomUUID());
        const inPath = pathMembers({ path }).includes(member);
        const query = method === 'GET' && !inPath ? `?${member}=${other}` : '';
        const reason = name === 'lead.erase' ? { reason: 'ticket 8' } : {};
        const payload = { ...(!inPath && { [member]: other }), ...reason };
        const answer = await administrator(method, `/api${url}${query}`, {
          ...(method !== 'GET' && { payload }),
        });
        if (!afterErasure)
          expect([name, member, answer.json()]).toMatchObject([
            ...[name, member],
            {
              status: 410,
              erasure: { leadId, reason: 'ticket 8', by: expect.anything() as string },
            },
          ]);
        (answer.statusCode === 410 ? gone : left).push(name);
      }
    // What is asked after an erasure: that it is proven, on record, told, and finished.
    expect(left.toSorted()).toEqual([
      ...['audit.reads', 'consent.list', 'delivery.show', 'endpoint.resend', 'endpoint.tries'],
      'lead.erase',
    ]);
    expect(gone.length).toBeGreaterThan(9);
  });

  test('twice, and of an email that nobody has, is answered all the same', async () => {
    expect((await erase({ leadId, reason: 'ticket 3' })).statusCode).toBe(200);
    const again = await erase({ leadId, reason: 'ticket 3' });
    expect(again.json()).toMatchObject({ leadId, counts: { leads: 0, submissions: 0 } });
    const nobody = await erase({ email: 'nobody@example.com', reason: 'ticket 3' });
    expect(nobody.json()).toMatchObject({ counts: { leads: 0, submissions: 0 } });
  });

  test('is for administrators', async () => {
    const operator = await console_.withToken('operator');
    expect((await erase({ leadId, reason: 'ticket 4' }, operator)).statusCode).toBe(403);
    expect(await show()).toMatchObject({ erased: false });
  });

  test.each([
    ['the name', 'Sra. MARKED pediu'],
    ['the email', `pedido de ${EMAIL}`],
  ])('is refused when its reason, which stays, says %s of the person', async (_, reason) => {
    const answer = await erase({ leadId, reason });
    expect([answer.statusCode, answer.json()]).toMatchObject([
      422,
      { errors: [{ pointer: '/reason' }] },
    ]);
    expect(await show()).toMatchObject({ erased: false });
  });

  test.each([
    ['nobody', {}],
    ['two', { email: EMAIL, telephone: '11987654321' }],
    ['no email', { email: 'marked@' }],
  ])('is refused when it names %s', async (_, named) => {
    expect((await erase({ ...named, reason: 'ticket 5' })).statusCode).toBe(422);
  });

  test('of a lead of another workspace finds none', async () => {
    const other = await administrator('POST', '/api/workspaces', {
      payload: { name: randomUUID().slice(0, 9) },
    });
    const url = `/api/workspaces/${other.json<{ id: string }>().id}/erasures`;
    const answer = await administrator('POST', url, { payload: { leadId, reason: 'ticket 6' } });
    expect(answer.statusCode).toBe(404);
    expect(await show()).toMatchObject({ erased: false });
  });
});
