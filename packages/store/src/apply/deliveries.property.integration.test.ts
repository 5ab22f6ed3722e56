import { type Consent, type Lead, LEAD_EVENTS, type Submission } from '@leadgate/contract';
import { bareSubmission, testDatabase } from '@leadgate/testkit';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { consentsOfLead } from '../consents.ts';
import { dueDeliveries, type LeadContent, recordTries, type SentDelivery } from '../deliveries.ts';
import { listFields } from '../fields.ts';
import { findLeads } from '../leads.ts';
import { openStore, type Store } from '../open-store.ts';
import { applyGroup } from './apply-group.ts';
import { mergeLeads, splitLead } from './merges.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let stores: Store[];
let store: Store;
beforeAll(async () => {
  database = await testDatabase();
  stores = Array.from({ length: 3 }, () => openStore({ url: database.url, poolSize: 2 }));
  store = stores[2] as Store;
});
afterAll(async () => {
  await Promise.all(stores.map((one) => one.close()));
  await database.drop();
});

const LINKS = [randomUUID(), randomUUID()] as const;

interface Posted {
  person: number;
  lead: Lead;
  link: 0 | 1;
  age: number;
  consent: Consent | 'withdrawn' | null;
}

const posted: fc.Arbitrary<Posted> = fc.record({
  person: fc.nat(3),
  lead: fc.record(
    {
      name: fc.constantFrom('a', 'b'),
      utmSource: fc.constantFrom('x', 'y'),
      customFields: fc.record({ plan: fc.constantFrom('p', 'q') }),
    },
    { requiredKeys: [] },
  ),
  link: fc.constantFrom(0, 1),
  age: fc.constantFrom(0, 5_000),
  consent: fc.constantFrom<Posted['consent']>(
    null,
    { given: true, textVersion: '2' },
    { given: false },
    'withdrawn',
  ),
});

type Fate = 'delivered' | 'failed' | 'crashed';

/** What an endpoint has been told, message by message, as it keeps it: the highest version wins. */
class Receiver {
  readonly messages: LeadContent[] = [];
  readonly known = new Map<string, LeadContent>();
  readonly ended = new Map<string, number>();

  take(lead: LeadContent): void {
    this.messages.push(lead);
    const before = this.known.get(lead.leadId);
    if (before === undefined || before.version <= lead.version) this.known.set(lead.leadId, lead);
    for (const { leadId, version } of lead.mergedLeads)
      this.ended.set(leadId, Math.max(version, this.ended.get(leadId) ?? 0));
  }
}

/** A workspace whose endpoints' lanes are held by an owner: a run that was given up never takes another's. */
async function setUp(owner: string) {
  const workspaceId = randomUUID();
  await store.prisma.workspace.create({
    data: {
      id: workspaceId,
      name: workspaceId,
      fields: { create: [{ id: randomUUID(), name: 'plan', label: 'Plano', type: 'text' }] },
    },
  });
  const endpoints = { all: randomUUID(), ofLink: randomUUID() };
  for (const [name, id] of Object.entries(endpoints))
    await store.prisma.endpoint.create({
      data: {
        ...{ id, workspaceId, name, url: 'https://crm.example/', concurrency: 1 },
        ...{ secret: new Uint8Array(1), laneOwner: owner, laneUntil: new Date('9999-01-01') },
        events: [...LEAD_EVENTS],
        linkIds: name === 'ofLink' ? [LINKS[1]] : [],
      },
    });
  return { workspaceId, endpoints, fields: await listFields(store, workspaceId) };
}

/** Sends some of what is due to an endpoint. Returns whether there was anything. */
async function send(
  lane: { owner: string; endpointId: string },
  receiver: Receiver,
  fate: Fate,
): Promise<boolean> {
  const due = await dueDeliveries(store, lane, { limit: 2, except: [], freshFirst: false });
  const tries = due.map(({ leadId, event, resends, version, lead }): SentDelivery => {
    if (fate !== 'failed' && lead !== null) receiver.take(lead);
    return {
      ...{ leadId, event, resends, version, messageId: 'msg', status: null },
      ...{ detail: '', durationMs: 1, retryMs: 0, confirmMs: null, remoteId: null },
      outcome: fate === 'delivered' ? 'delivered' : 'timeout',
    };
  });
  // One that crashed was heard by the endpoint, and by nobody else.
  if (fate !== 'crashed')
    await recordTries(
      store,
      lane,
      tries,
      { failures: 0, quietMs: null, disabled: null },
      86_400_000,
    );
  return due.length > 0;
}

test('in whatever order, grouping, repetition, crash and merge, the last message of a lead is the lead as it stands', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(posted, { minLength: 1, maxLength: 12 }),
      fc.array(fc.nat(), { minLength: 24, maxLength: 24 }),
      fc.array(fc.tuple(fc.nat(3), fc.nat(3)), { maxLength: 3 }),
      fc.array(fc.nat(3), { maxLength: 1 }),
      fc.array(fc.constantFrom<Fate>('delivered', 'delivered', 'failed', 'crashed'), {
        maxLength: 10,
      }),
      async (posts, shuffle, merges, splits, fates) => {
        const owner = randomUUID();
        const { workspaceId, endpoints, fields } = await setUp(owner);
        const people = Array.from({ length: 4 }, () => randomUUID());
        const submissions = posts.map(({ person, lead, link, age, consent }): Submission => {
          const one = bareSubmission({
            workspaceId,
            leadId: people[person] ?? '',
            linkId: LINKS[link],
            lead: { email: `${person}@example.com`, ...lead },
            ...(consent === 'withdrawn'
              ? { source: 'withdrawal', consent: { given: false } }
              : consent !== null && { consent }),
          });
          return { ...one, stamp: one.order - age };
        });
        // Each at least once, some twice, in another order, in groups of up to three.
        const jobs = [...submissions, ...submissions.slice(0, 4)]
          .map((submission, n) => ({ submission, key: shuffle[n % shuffle.length] ?? 0 }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ submission }) => ({ submission, replay: false }));
        const groups: (typeof jobs)[] = [];
        for (let at = 0; at < jobs.length; at += 1 + (at % 3))
          groups.push(jobs.slice(at, at + 1 + (at % 3)));

        const receivers = { all: new Receiver(), ofLink: new Receiver() };
        const lanes = (['all', 'ofLink'] as const).map((name) => ({
          lane: { owner, endpointId: endpoints[name] },
          receiver: receivers[name],
        }));
        await Promise.all([
          ...[0, 1].map(async (worker) => {
            for (const [n, group] of groups.entries())
              if (n % 2 === worker) await applyGroup(stores[worker] as Store, group);
          }),
          (async () => {
            for (const [a, b] of merges)
              await mergeLeads(store, workspaceId, people[a] ?? '', people[b] ?? '');
            for (const person of splits)
              await splitLead(store, workspaceId, people[person] ?? '', fields);
          })(),
          (async () => {
            for (const fate of fates)
              for (const { lane, receiver } of lanes) await send(lane, receiver, fate);
          })(),
        ]);
        for (const { lane, receiver } of lanes) while (await send(lane, receiver, 'delivered'));

        const rows = await store.prisma.lead.findMany({ where: { workspaceId } });
        const versions = () =>
          store.prisma.lead.findMany({
            where: { workspaceId },
            select: { id: true, version: true },
            orderBy: { id: 'asc' },
          });
        const standing = new Map(
          await Promise.all(
            rows
              .filter(({ mergedInto }) => mergedInto === null)
              .map(async ({ id, version }) => {
                const [found] = await findLeads(store, { workspaceId, leadId: id }, 1);
                const { workspace: _, erased: __, ...lead } = found ?? expect.fail(id);
                const consents = await consentsOfLead(store, { workspaceId, id });
                const last = consents.find(({ action }) => action !== 'refused') ?? consents[0];
                const consent = last === undefined ? null : { state: last.action, at: last.at };
                return [id, { ...lead, version, consent }] as const;
              }),
          ),
        );
        for (const { messages, known, ended } of Object.values(receivers)) {
          // Of what it was told last, what has not ended is the lead as it stands.
          for (const [id, lead] of known) {
            const end = ended.get(id) ?? 0;
            const stands = standing.get(id);
            if (stands === undefined) expect(end).toBeGreaterThan(lead.version);
            else {
              expect(lead).toMatchObject(stands);
              expect(lead.version).toBeGreaterThan(end);
            }
          }
          const highest = new Map<string, number>();
          for (const { leadId, version } of messages) {
            expect(version).toBeGreaterThanOrEqual(highest.get(leadId) ?? 1);
            highest.set(leadId, version);
          }
        }
        for (const id of standing.keys()) expect(receivers.all.known.has(id)).toBe(true);
        const endOf = new Map(rows.map(({ id, mergedInto }) => [id, mergedInto ?? id]));
        const byLink = submissions.filter(({ linkId }) => linkId === LINKS[1]);
        const told = new Set(byLink.map(({ leadId }) => endOf.get(leadId)));
        // Parts of a lead that was known are known.
        if (splits.length === 0)
          for (const id of receivers.ofLink.known.keys()) expect(told).toContain(endOf.get(id));

        // All of it again, as a repetition and as a replay.
        const before = await versions();
        for (const replay of [false, true])
          await applyGroup(
            store,
            submissions.map((submission) => ({ submission, replay })),
          );
        expect(await versions()).toEqual(before);
        const where = { workspaceId, dueAt: { not: null } };
        expect(await store.prisma.delivery.findMany({ where })).toEqual([]);
        await store.prisma.endpoint.deleteMany({ where: { workspaceId } });
      },
    ),
    { numRuns: 40, interruptAfterTimeLimit: 20_000 },
  );
}, 60_000);
