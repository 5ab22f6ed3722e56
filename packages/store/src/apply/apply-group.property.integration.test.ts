import { type Lead, LEAD_FIELDS, type Submission, UTM_FIELDS } from '@leadgate/contract';
import { bareSubmission, keysOf, testDatabase } from '@leadgate/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import type { StoredProvenance } from '../leads.ts';
import { openStore, type Store } from '../open-store.ts';
import { type AppliedSubmission, applyGroup, type GroupResult } from './apply-group.ts';
import { mergeLeads } from './merges.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let stores: [Store, Store];

beforeAll(async () => {
  database = await testDatabase();
  const open = () => openStore({ url: database.url, poolSize: 2 });
  stores = [open(), open()];
});

afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await database.drop();
});

// What is posted, in the order of reservations. Few values, so that people cross.

interface Posted {
  lead: Lead;
  /** How much older than its order its facts are. Microseconds. */
  age: number;
}

const word = fc.constantFrom('a', 'b', 'c');

const postedLead: fc.Arbitrary<Lead> = fc.record(
  {
    email: fc.constantFrom('1@example.com', '2@example.com', '3@example.com'),
    telephone: fc.constantFrom('551199990001', '551199990002', '551199990003'),
    name: word,
    birthday: fc.constantFrom('1990-01-01', '1991-12-31'),
    address: fc.record({ city: word, number: word }, { requiredKeys: [] }),
    utmSource: word,
    utmTerm: word,
    attribution: fc
      .record({ gclid: word, fbp: word, clickedAt: word }, { requiredKeys: [] })
      .filter((one) => Object.keys(one).length > 0),
    customFields: fc.record(
      { plan: word, Plano: word, income: fc.nat(3), other: word },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: [] },
);

const posted: fc.Arbitrary<Posted> = fc.record({
  lead: postedLead,
  age: fc.oneof(fc.constant(0), fc.constantFrom(5_000, 1_000_000)),
});

// How it is worked: jobs shuffled, repeated, in groups, by two workers.

type Schedule = [Submission[][], Submission[][]];

function schedule(submissions: Submission[]): fc.Arbitrary<Schedule> {
  return fc.array(fc.constantFrom(...submissions), { maxLength: 6 }).chain((repeated) => {
    const jobs = [...submissions, ...repeated];
    return fc
      .record({
        jobs: fc.shuffledSubarray(jobs, { minLength: jobs.length }),
        sizes: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: jobs.length }),
        workers: fc.array(fc.nat(1), { minLength: jobs.length }),
      })
      .map(({ jobs: shuffled, sizes, workers }) => {
        const groups: Schedule = [[], []];
        for (let at = 0, n = 0; at < shuffled.length; at += sizes[n] ?? 1, n += 1)
          groups[workers[n] === 1 ? 1 : 0].push(shuffled.slice(at, at + (sizes[n] ?? 1)));
        return groups;
      });
  });
}

function sampleSchedule(submissions: Submission[], seed: number): Schedule {
  const [groups] = fc.sample(schedule(submissions), { seed, numRuns: 1 });
  return groups ?? [[], []];
}

/** Both workers go through their groups, one group after the other, at the same time. */
async function work(groups: Schedule): Promise<GroupResult[]> {
  const results = await Promise.all(
    stores.map(async (store, worker) => {
      const own: GroupResult[] = [];
      for (const group of groups[worker] ?? []) {
        const items = group.map((submission) => ({ submission, replay: false }));
        own.push(await applyGroup(store, items));
      }
      return own;
    }),
  );
  return results.flat();
}

// The naive model: one post after the other, everything of a lead looked at each time.

const CAP = 3;
let order = 1_700_000_000_000_000;

/** Reserves as Redis does; `owners` is what it knows. */
function reserve(
  { lead, age }: Posted,
  owners: Map<string, string>,
  workspaceId: string,
): Submission {
  const keys = keysOf(lead);
  const leadId = keys.map((key) => owners.get(key)).find((id) => id !== undefined) ?? randomUUID();
  const identities = keys.map((key) => {
    const owned = [...owners.values()].filter((id) => id === leadId).length;
    if (!owners.has(key) && owned < CAP) owners.set(key, leadId);
    return { key, owner: owners.get(key) ?? null };
  });
  order += 1_000;
  return bareSubmission({ workspaceId, leadId, lead, identities, order, stamp: order - age });
}

interface LeadView {
  values: Record<string, string>;
  provenance: Record<string, [string, number, number]>;
  firstTouch: string | null;
  lastTouch: string | null;
  touch: object | null;
  creator: string | null;
  customFields: Record<string, unknown>;
}

interface FieldIds {
  plan: string;
  income: string;
}

const byStamp = (a: Submission, b: Submission) => a.stamp - b.stamp || a.order - b.order;

/** What a lead is after these submissions, one after the other in the order of their facts. */
function expectedLead(submissions: Submission[], fields: FieldIds): LeadView {
  const view: LeadView = {
    values: {},
    provenance: {},
    firstTouch: null,
    lastTouch: null,
    touch: null,
    creator: null,
    customFields: {},
  };
  for (const { id, stamp, order: at, lead } of submissions.toSorted(byStamp)) {
    for (const [path, value] of flat(lead)) {
      view.values[path] = value;
      view.provenance[path] = [id, stamp, at];
    }
    const utm = UTM_FIELDS.flatMap((field) => (lead[field] ? [[field, lead[field]]] : []));
    const { attribution } = lead;
    if (utm.length === 0 && attribution?.gclid === undefined) continue;
    view.firstTouch ??= id;
    view.lastTouch = id;
    view.touch = { ...(Object.fromEntries(utm) as object), ...(attribution && { attribution }) };
  }
  const [creator] = submissions.toSorted((a, b) => a.order - b.order);
  const { plan, Plano, income } = creator?.lead.customFields ?? {};
  const chosen = plan ?? Plano;
  view.creator = creator?.id ?? null;
  if (chosen !== undefined) view.customFields[fields.plan] = chosen;
  if (income !== undefined) view.customFields[fields.income] = income;
  return view;
}

function flat(lead: Lead): [string, string][] {
  return [
    ...LEAD_FIELDS.map((field) => [field, lead[field]]),
    ...Object.entries(lead.address ?? {}).map(([field, value]) => [`address.${field}`, value]),
  ].filter((entry): entry is [string, string] => entry[1] !== undefined);
}

// What stands in Postgres.

async function setUp(): Promise<{ workspaceId: string; fields: FieldIds }> {
  const workspaceId = randomUUID();
  const fields = { plan: randomUUID(), income: randomUUID() };
  await stores[0].prisma.workspace.create({
    data: {
      id: workspaceId,
      name: workspaceId,
      fields: {
        create: [
          { id: fields.plan, name: 'plan', label: 'Plano', type: 'text' },
          { id: fields.income, name: 'income', label: 'Renda', type: 'number' },
        ],
      },
    },
  });
  return { workspaceId, fields };
}

interface StoredTouch {
  submissionId: string;
  values: object;
}

async function stored(workspaceId: string) {
  const { prisma } = stores[0];
  const where = { workspaceId };
  const [leads, identities, submissions, pairs] = await Promise.all([
    prisma.lead.findMany({ where }),
    prisma.identity.findMany({ where }),
    prisma.submission.findMany({ where }),
    prisma.possibleDuplicate.findMany({ where }),
  ]);
  const aliases = new Map(leads.map(({ id, mergedInto }) => [id, mergedInto]));
  const views = leads.flatMap((row): [string, LeadView][] => {
    if (row.mergedInto !== null) return [];
    const [firstTouch, lastTouch] = [row.firstTouch, row.lastTouch] as (StoredTouch | null)[];
    const birthday = row.birthday?.toISOString().slice(0, 10);
    const lead = { ...row, birthday } as unknown as Lead;
    const view: LeadView = {
      values: Object.fromEntries(flat(lead).filter(([, value]) => value !== null)),
      provenance: Object.fromEntries(
        (row.provenance as unknown as StoredProvenance).flatMap(([id, stamp, at, ...paths]) =>
          paths.map((path) => [path, [id, stamp, at]]),
        ),
      ),
      firstTouch: firstTouch?.submissionId ?? null,
      lastTouch: lastTouch?.submissionId ?? null,
      touch: lastTouch?.values ?? null,
      creator: row.creatorId,
      customFields: row.customFields as LeadView['customFields'],
    };
    return [[row.id, view]];
  });
  return {
    aliases,
    leads: Object.fromEntries(views),
    owners: Object.fromEntries(identities.map(({ key, leadId }) => [key, leadId])),
    submissions: new Map(submissions.map(({ id, leadId }) => [id, leadId])),
    pairs: pairs.map(({ leadA, leadB }) => `${leadA} ${leadB}`).sort(),
  };
}

function groupBy<T>(items: T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

const outcomesOf = (results: GroupResult[]) => results.flatMap(({ applied }) => applied);
const those = (outcome: AppliedSubmission['outcome'], results: GroupResult[]) =>
  outcomesOf(results).filter((applied) => applied.outcome === outcome);

test('however jobs are shuffled, grouped, repeated and shared, Postgres holds what the posts say', async () => {
  const history = fc.array(posted, { minLength: 1, maxLength: 14 });
  await fc.assert(
    fc.asyncProperty(history, fc.nat(), async (posts, seed) => {
      const { workspaceId, fields } = await setUp();
      const owners = new Map<string, string>();
      const submissions = posts.map((post) => reserve(post, owners, workspaceId));
      const groups = sampleSchedule(submissions, seed);

      const results = await work(groups);

      const found = await stored(workspaceId);
      const byLead = groupBy(submissions, ({ leadId }) => leadId);
      const expected = [...byLead].map(([id, own]) => [id, expectedLead(own, fields)]);
      expect(found.leads).toEqual(Object.fromEntries(expected));
      expect([...found.aliases.values()].filter((target) => target !== null)).toEqual([]);
      expect(found.owners).toEqual(Object.fromEntries(owners));
      expect(found.submissions).toEqual(new Map(submissions.map((s) => [s.id, s.leadId])));
      const pairs = submissions.flatMap(({ leadId, identities }) =>
        identities.flatMap(({ owner }) =>
          owner === null || owner === leadId ? [] : [[leadId, owner].sort().join(' ')],
        ),
      );
      expect(found.pairs).toEqual([...new Set(pairs)].sort());
      expect(results.flatMap(({ moved }) => moved)).toEqual([]);
      expect(those('created', results)).toHaveLength(byLead.size);
      expect(those('updated', results)).toHaveLength(submissions.length - byLead.size);
    }),
    { numRuns: 60, interruptAfterTimeLimit: 40_000 },
  );
}, 60_000);

interface Disturbed extends Posted {
  /** Keys that Redis has lost before this post, by their place among those it knows. */
  lost: number[];
  /** Another id was answered while Redis was away. */
  answeredElse: boolean;
}

const disturbed: fc.Arbitrary<Disturbed> = fc.record({
  lead: postedLead,
  age: fc.constantFrom(0, 5_000),
  lost: fc.array(fc.nat(5), { maxLength: 2 }),
  answeredElse: fc.boolean(),
});

test('where Redis forgets keys and leads are merged meanwhile, every key has one owner, every id resolves, nothing is lost', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(disturbed, { minLength: 2, maxLength: 14 }),
      fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 4 }),
      fc.nat(),
      async (posts, merges, seed) => {
        const { workspaceId, fields } = await setUp();
        const owners = new Map<string, string>();
        const submissions = posts.map((post) => {
          const known = [...owners.keys()];
          for (const at of post.lost) owners.delete(known[at] ?? '');
          const submission = reserve(post, owners, workspaceId);
          return post.answeredElse ? { ...submission, answeredLeadId: randomUUID() } : submission;
        });
        const ids = submissions.flatMap(({ leadId, answeredLeadId }) =>
          answeredLeadId === undefined ? [leadId] : [leadId, answeredLeadId],
        );
        const idAt = (n: number) => ids[n % ids.length] as string;
        const groups = sampleSchedule(submissions, seed);

        const merging = async () => {
          for (const [a, b] of merges) await mergeLeads(stores[1], workspaceId, idAt(a), idAt(b));
        };
        await Promise.all([work(groups), merging()]);

        const found = await stored(workspaceId);
        const resolve = (id: string) => found.aliases.get(id) ?? id;
        for (const id of ids) expect(found.leads).toHaveProperty([resolve(id)]);
        for (const owner of Object.values(found.owners))
          expect(found.leads).toHaveProperty([owner]);
        for (const { leadId, identities } of submissions)
          for (const { key, owner } of identities)
            if (owner === leadId) expect(found.owners).toHaveProperty([key]);
        expect(found.submissions).toEqual(new Map(submissions.map((s) => [s.id, s.leadId])));
        const expected = [...groupBy(submissions, ({ leadId }) => resolve(leadId))].map(
          ([id, own]) => [id, expectedLead(own, fields)],
        );
        expect(found.leads).toEqual(Object.fromEntries(expected));
        const pairs = found.pairs.map((pair) => pair.split(' ').map(resolve).sort().join(' '));
        for (const { leadId, identities } of submissions)
          for (const { key, owner } of identities) {
            const [own, holder] = [leadId, owner === leadId ? found.owners[key] : owner];
            if (holder == null || resolve(own) === resolve(holder)) continue;
            expect(pairs).toContain([own, holder].map(resolve).sort().join(' '));
          }
      },
    ),
    { numRuns: 60, interruptAfterTimeLimit: 40_000 },
  );
}, 60_000);
