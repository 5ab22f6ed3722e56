import { Keyring } from '@leadgate/boot';
import { LEAD_EVENTS, type LinkMapping } from '@leadgate/contract';
import { parseBody, readSent } from '@leadgate/leads';
import {
  addUpTallies,
  createEndpoint,
  erasePerson,
  erasureKeyOf,
  linkEntries,
  listSubmissions,
  mergeLeads,
  openStore,
  showLead,
  updateLink,
} from '@leadgate/store';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { acceptBody } from '../accept.ts';
import { derivedId } from '../derived-id.ts';
import { link as linkOperations } from '../link.ts';
import { Refusal } from '../operation.ts';
import { connectionsOf, operationsUnderTest } from '../../test/operations.ts';
import { runOperation } from '../run.ts';
import type { Started } from '../runs.ts';
import { filterOfPosts, previewReadAgain, readAgainWork } from './read-again.ts';
import { replayWork } from './replay-submissions.ts';

const system = await operationsUnderTest();

type Link = { workspaceId: string; linkId: string };
const BEGUN_BY = { kind: 'token', name: 'tests' } as const;

/** What operations have in a process of their own. */
const processOf = (store = system.store) => connectionsOf(system, { store });

const MAPPING: LinkMapping = {
  preset: null,
  rules: {
    email: ['$.contact.mail'],
    name: ['$.contact.who'],
    telephone: ['$.contact.fone'],
    externalId: ['$.id'],
    test: ['$.dry'],
    'consent.given': ['$.agreed'],
  },
};

const map = async (link: Link, mapping: LinkMapping | null = MAPPING) =>
  expect(await updateLink(system.store, link.linkId, { mapping })).toMatchObject({
    kind: 'updated',
  });

const ROW = (mail: string) => ({ mail, list: ['x'] });

let posts = 0;

/** Posts a body, as a receiver takes it under the link of now. The queue still has to be worked off. */
async function post(link: Link, body: unknown): Promise<{ leadId: string; submissionId: string }> {
  const [entry] = await linkEntries(system.store, link.linkId);
  if (entry === undefined) throw new Error('no such link');
  const text = JSON.stringify(body);
  const parsed = parseBody(text, 'json');
  if (parsed.kind !== 'parsed') throw new Error(parsed.kind);
  const now = Date.now();
  const reading = readSent(parsed.value, entry.link, { lenient: false, now });
  if (reading.kind !== 'read') throw new Error(reading.code);
  const submissionId = derivedId(now, [String((posts += 1))]);
  const sent = {
    submissionId,
    link,
    reading,
    stamp: null,
    source: 'post',
    background: false,
  } as const;
  const outcome = await acceptBody(system, { ...sent, body: text, bodyType: 'json' });
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return { leadId: outcome.leadId, submissionId };
}

function started(given: Started | Refusal): Started {
  if (given instanceof Refusal) throw new Error(given.detail);
  return given;
}

async function begin(link: Link, parameters = {}, connections = processOf()): Promise<Started> {
  const until = new Date(Date.now() + 60_000).toISOString();
  const asked = { kind: 'read-again', workspaceId: link.workspaceId, begunBy: BEGUN_BY } as const;
  return started(
    await connections.runner.begin(
      connections,
      { ...asked, parameters: { linkId: link.linkId, until, ...parameters } },
      readAgainWork,
    ),
  );
}

async function readAgain(link: Link, parameters = {}): Promise<Record<string, number>> {
  const { ended } = await begin(link, parameters);
  const outcome = await ended;
  expect(outcome).toMatchObject({ state: 'done', error: null });
  return outcome.progress;
}

/** What people see of a lead, and of which submissions it is. */
async function lead(leadId: string) {
  const shown = await showLead(system.store, leadId, { historyLimit: 1 });
  if (shown === null) return null;
  const submissions = await listSubmissions(system.store, { leadId }, 10);
  return {
    ...{ id: shown.leadId, email: shown.email, name: shown.name, telephone: shown.telephone },
    submissions: submissions.map(({ submissionId }) => submissionId).reverse(),
  };
}

/** As the link is listed once a worker has counted. */
async function unrecognised({ workspaceId, linkId }: Link) {
  while ((await addUpTallies(system.store)) > 0);
  const connections = processOf();
  const links = await runOperation(linkOperations.list, { workspaceId }, connections, {
    actor: { kind: 'command-line', name: 'tests', role: 'administrator', workspaces: [] },
    ...{ requestId: null, signal: new AbortController().signal, warn: () => undefined },
  });
  if (links instanceof Refusal) throw new Error(links.detail);
  return links.find(({ id }) => id === linkId)?.unrecognised;
}

const ANA = { mail: 'ana@example.com', who: 'Ana', fone: '11987654321' };

test('posts that said nothing say what the mended mapping reads, and every id that was answered is of its person', async () => {
  const link = await system.open();
  const first = await post(link, { contact: ANA });
  const other = await post(link, { contact: { mail: 'bia@example.com' } });
  const again = await post(link, { contact: { mail: 'ANA@example.com', who: 'Ana Lima' } });
  const bare = await post(link, { weather: 'fine' });
  await system.work();
  expect(new Set([first, other, again, bare].map(({ leadId }) => leadId)).size).toBe(4);
  expect(await unrecognised(link)).toEqual({ today: 4, week: 4 });
  await map(link);

  const [entry] = await linkEntries(system.store, link.linkId);
  if (entry === undefined) throw new Error('no link');
  const filter = filterOfPosts({ linkId: link.linkId }, new Date(Date.now() + 1_000));
  const preview = await previewReadAgain(
    system.store,
    entry.link,
    filter,
    new AbortController().signal,
  );
  expect(preview.counts).toEqual({ read: 4, changed: 3, unrecognised: 1, tests: 0 });
  expect(preview.changes[0]).toEqual({
    ...{ submissionId: first.submissionId, leadId: first.leadId, names: true },
    ...{ filled: ['email', 'name', 'telephone'], changed: [], emptied: [] },
  });
  expect(await lead(first.leadId)).toMatchObject({ email: undefined });

  expect(await readAgain(link)).toEqual({
    ...{ read: 4, changed: 3, unrecognised: 1, tests: 0, left: 0, ended: 1 },
  });
  const ana = {
    ...{ id: first.leadId, email: 'ana@example.com', name: 'Ana Lima' },
    ...{ telephone: '11987654321', submissions: [first.submissionId, again.submissionId] },
  };
  expect(await lead(first.leadId)).toEqual(ana);
  expect(await lead(again.leadId)).toEqual(ana);
  expect(await lead(other.leadId)).toMatchObject({ email: 'bia@example.com' });
  expect(await lead(bare.leadId)).toMatchObject({ id: bare.leadId, email: undefined });

  expect(await unrecognised(link)).toEqual({ today: 1, week: 1 });

  expect(await readAgain(link)).toMatchObject({ read: 4, changed: 0, ended: 0 });
  expect(await lead(again.leadId)).toEqual(ana);
  expect(await unrecognised(link)).toEqual({ today: 1, week: 1 });
  expect((await post(link, { contact: { fone: '+55 11 98765-4321' } })).leadId).toBe(first.leadId);
  await system.work();
});

test('the person is the one who is known today, and newer facts stay', async () => {
  const link = await system.open();
  const unread = await post(link, { contact: { ...ANA, who: 'Ana of then' } });
  await system.work();
  await map(link);
  const today = await post(link, { contact: { mail: ANA.mail, who: 'Ana of today' } });
  await system.work();
  await readAgain(link);
  const known = { id: today.leadId, name: 'Ana of today', telephone: ANA.fone };
  expect(await lead(unread.leadId)).toMatchObject(known);
  expect(await lead(today.leadId)).toMatchObject(known);
});

test('what a wrong query read is taken back, and the value it had hidden stands again', async () => {
  const link = await system.open();
  await map(link);
  const right = await post(link, { contact: ANA });
  await map(link, { preset: null, rules: { ...MAPPING.rules, name: ['$.company'] } });
  await post(link, { contact: { mail: ANA.mail }, company: 'ACME' });
  await system.work();
  expect(await lead(right.leadId)).toMatchObject({ name: 'ACME' });
  await map(link);
  expect(await readAgain(link)).toMatchObject({ read: 2, changed: 1 });
  expect(await lead(right.leadId)).toMatchObject({ name: 'Ana', telephone: ANA.fone });
});

test('a row of a list, and a list of one that came before its mapping, are read as one lead each', async () => {
  const link = await system.open();
  await map(link, null);
  const posts = [
    await post(link, ROW('row@example.com')),
    await post(link, ROW('one@example.com')),
  ];
  await system.work();
  const { submissionId = '' } = posts[1] ?? {};
  const body = JSON.stringify({ of: [ROW('one@example.com')] });
  await system.store.prisma.submission.updateMany({ where: { id: submissionId }, data: { body } });
  await map(link, { preset: null, rules: { email: ['$.mail'] }, rows: '$.of' });
  expect(await readAgain(link)).toMatchObject({ read: 2, changed: 2 });
  for (const [at, email] of ['row@example.com', 'one@example.com'].entries())
    expect(await lead(posts[at]?.leadId ?? '')).toMatchObject({ email });
});

test('people whom a wrong query took for one are several, and an operator’s merge stands', async () => {
  const link = await system.open();
  await map(link, { preset: null, rules: { telephone: ['$.switchboard'] } });
  const contact = (mail: string) => ({ switchboard: '1133334444', contact: { mail } });
  const joined = [];
  for (const mail of ['a@x.example', 'b@x.example', 'c@x.example'])
    joined.push(await post(link, contact(mail)));
  const alone = await post(link, { contact: { mail: 'd@x.example' } });
  const kept = await post(link, { switchboard: '1155556666' });
  await system.work();
  expect(new Set(joined.map(({ leadId }) => leadId)).size).toBe(1);
  await mergeLeads(system.store, link.workspaceId, kept.leadId, alone.leadId);
  await map(link);
  await readAgain(link);
  const ofEach = await listSubmissions(system.store, { linkId: link.linkId }, 10);
  const leadOf = (id: string) =>
    ofEach.find(({ submissionId }) => submissionId === id)?.leadId ?? '';
  const ids = joined.map(({ submissionId }) => leadOf(submissionId));
  expect(new Set(ids).size).toBe(3);
  expect((await lead(ids[1] ?? ''))?.email).toBe('b@x.example');
  expect(leadOf(alone.submissionId)).toBe(kept.leadId);
  expect(await lead(alone.leadId)).toMatchObject({ id: kept.leadId, email: 'd@x.example' });
  expect(await readAgain(link)).toMatchObject({ changed: 0 });
});

test('the sender’s id of a post counts from then on, and a test of the sender stays out', async () => {
  const link = await system.open();
  const unread = await post(link, { id: 'x-1', contact: {} });
  const dry = await post(link, { id: 'x-2', dry: true, contact: { mail: 'dummy@example.com' } });
  await system.work();
  await map(link);
  expect(await readAgain(link)).toMatchObject({ changed: 1, tests: 1 });
  const repeat = await post(link, { id: 'x-1', contact: { mail: 'late@example.com' } });
  await system.work();
  expect(repeat.leadId).toBe(unread.leadId);
  expect(await lead(unread.leadId)).toMatchObject({
    email: undefined,
    submissions: [unread.submissionId],
  });
  expect(await lead(dry.leadId)).toMatchObject({ email: undefined });
});

test('who was erased since does not come back, and the id that was answered says so, to endpoints too', async () => {
  const link = await system.open();
  const settings = {
    ...{ name: 'crm', url: 'https://crm.example', mapping: null, headers: {}, linkIds: [] },
    ...{ events: [...LEAD_EVENTS], perSecond: null, concurrency: 1 },
  };
  const keyring = new Keyring('a key of thirty-two characters or more');
  await createEndpoint(system.store, link.workspaceId, settings, { secret: 'whsec_', keyring });
  const unread = await post(link, { contact: ANA });
  await system.work();
  // It takes all that it is told.
  const taken = { dueAt: null, deliveredAt: new Date(), deliveredVersion: 1 };
  const ofLink = { where: { workspaceId: link.workspaceId } };
  await system.store.prisma.delivery.updateMany({ ...ofLink, data: taken });
  await map(link);
  const known = await post(link, { contact: ANA });
  await system.work();
  const keyed = openStore({
    url: system.databaseUrl,
    poolSize: 2,
    erasureKey: erasureKeyOf('k'.repeat(32)),
  });
  const { workspaceId } = link;
  const request = {
    ...{ workspaceId, leadIds: [known.leadId], offeredLeadId: known.leadId, identities: [] },
    ...{ order: (Date.now() + 60_000) * 1_000, reason: 'asked', erasedBy: 'tests' },
    erasedAt: new Date(),
  };
  const how = { dryRun: false, record: () => Promise.resolve() };
  const { erasure } = await erasePerson(keyed, request, how);
  expect(erasure.leadId).toBe(known.leadId);
  await (
    await begin(link, {}, processOf(keyed))
  ).ended;
  await keyed.close();
  const [row] = await listSubmissions(system.store, { leadId: unread.leadId }, 10);
  expect(row).toMatchObject({ leadId: known.leadId, lead: {} });
  expect((await lead(unread.leadId))?.id).toBe(known.leadId);
  const told = await system.store.prisma.delivery.findMany(ofLink);
  expect(told).toMatchObject([
    { leadId: known.leadId, event: 'lead.erased', dueAt: expect.any(Date) as Date },
  ]);
});

test('a replay that was enqueued before does not bring back what was said then', async () => {
  const link = await system.open();
  await map(link, { preset: null, rules: { ...MAPPING.rules, name: ['$.company'] } });
  const { leadId } = await post(link, { contact: ANA, company: 'ACME' });
  await system.work();
  const connections = processOf();
  const parameters = { until: new Date(Date.now() + 60_000).toISOString() };
  const asked = {
    kind: 'replay',
    workspaceId: link.workspaceId,
    parameters,
    begunBy: BEGUN_BY,
  } as const;
  await started(await connections.runner.begin(connections, asked, replayWork)).ended;
  await map(link);
  await readAgain(link);
  await system.work();
  expect(await lead(leadId)).toMatchObject({ name: 'Ana' });
});

const bodyArb = fc.record({
  contact: fc.record(
    {
      mail: fc.constantFrom('a@x.example', 'b@x.example', 'c@x.example'),
      who: fc.constantFrom('Ana', 'Bia', 'Cau'),
    },
    { requiredKeys: [] },
  ),
});

test('whenever the mapping comes, and however often reading again is stopped, it is as if it had been there from the first post on', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(bodyArb, { minLength: 1, maxLength: 8 }),
      fc.nat(8),
      fc.nat(3),
      async (bodies, mappedFrom, stops) => {
        const [link, model] = [await system.open(), await system.open()];
        await map(model);
        const ids: string[] = [];
        const expected: string[] = [];
        for (const [n, body] of bodies.entries()) {
          if (n === mappedFrom) await map(link);
          ids.push((await post(link, body)).leadId);
          expected.push((await post(model, body)).leadId);
        }
        await map(link);
        await system.work();
        for (let n = 0; n < stops; n += 1) {
          const connections = processOf();
          const run = await begin(link, { perSecond: 10 }, connections);
          run.stop();
          await run.ended;
          await started(await connections.runner.resume(connections, run.run.id)).ended;
        }
        await readAgain(link);
        const seen = async (all: readonly string[]) => {
          const leads = await Promise.all(all.map(lead));
          const groups = [...new Set(leads.map((one) => one?.id))];
          return leads.map((one) => [groups.indexOf(one?.id), one?.email, one?.name]);
        };
        expect(await seen(ids)).toEqual(await seen(expected));
      },
    ),
    { numRuns: 6, interruptAfterTimeLimit: 20_000 },
  );
});
