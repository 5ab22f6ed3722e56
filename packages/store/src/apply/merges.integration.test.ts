import type { Lead, Submission } from '@leadgate/contract';
import { applySubmissions, emptyLead } from '@leadgate/leads';
import { bareSubmission, testDatabase } from '@leadgate/testkit';
import fc from 'fast-check';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { openStore, type Store } from '../open-store.ts';
import { applyGroup } from './apply-group.ts';
import { leadColumns, readState, type LeadRow } from '../leads.ts';
import { mergeLeads, splitLead } from './merges.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let workspaceId: string;

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 4 });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});
const newWorkspace = async () => {
  workspaceId = randomUUID();
  await store.prisma.workspace.create({ data: { id: workspaceId, name: workspaceId } });
};
beforeEach(newWorkspace);

const sample = (leadId: string, lead: Lead, more: Partial<Submission> = {}) =>
  bareSubmission({ workspaceId, leadId, lead, ...more });

const apply = (submissions: readonly Submission[], replay = false) =>
  applyGroup(
    store,
    submissions.map((submission) => ({ submission, replay })),
  );

async function leads(): Promise<Record<string, LeadRow>> {
  const rows = await store.prisma.$queryRaw<LeadRow[]>`
    SELECT ${leadColumns} FROM lead WHERE workspace_id = ${workspaceId}::uuid`;
  return Object.fromEntries(rows.map((row) => [row.id, row]));
}

async function owners(): Promise<Record<string, string>> {
  const rows = await store.prisma.identity.findMany({ where: { workspaceId } });
  return Object.fromEntries(rows.map(({ key, leadId }) => [key, leadId]));
}

const PHONE = '5511999999999';

test('people whom a nonsense number joined are who they are, and every id that was answered is theirs', async () => {
  const [ana, alias] = [randomUUID(), randomUUID()];
  const submissions = [
    sample(ana, { email: 'ana@example.com', telephone: PHONE, name: 'Ana', utmSource: 'a' }),
    sample(ana, { telephone: PHONE, city: 'Recife' }),
    sample(
      ana,
      { email: 'bia@example.com', telephone: PHONE, name: 'Bia', utmSource: 'b' },
      { answeredLeadId: alias },
    ),
  ];
  await apply(submissions);
  const dry = await splitLead(store, workspaceId, alias, [], { dryRun: true });
  expect(dry).toMatchObject({ kind: 'split', moved: [] });
  expect((await leads())[ana]).toMatchObject({ name: 'Bia' });

  const split = await splitLead(store, workspaceId, alias, []);
  if (split.kind !== 'split') throw new Error(split.kind);
  const [kept, bia] = split.parts;
  expect(kept).toEqual({ leadId: ana, email: 'ana@example.com', submissions: 2 });
  expect(bia).toMatchObject({ email: 'bia@example.com', submissions: 1 });
  const id = bia?.leadId ?? '';
  expect(split.moved).toEqual([{ workspaceId, key: 'email:bia@example.com', from: ana, to: id }]);
  const rows = await leads();
  expect(rows[ana]).toMatchObject({ name: 'Ana', email: 'ana@example.com', city: 'Recife' });
  expect(rows[ana]?.lastTouch?.values).toEqual({ utmSource: 'a' });
  expect(rows[id]).toMatchObject({ name: 'Bia', email: 'bia@example.com', city: null });
  expect(rows[alias]).toMatchObject({ mergedInto: id });
  expect(await owners()).toEqual({
    'email:ana@example.com': ana,
    [`phone:+${PHONE}`]: ana,
    'email:bia@example.com': id,
  });
  expect(await splitLead(store, workspaceId, id, [])).toEqual({ kind: 'one-person', leadId: id });
  // Replays that were enqueued before it are of the lead that there was then.
  await apply(submissions, true);
  expect(await leads()).toEqual(rows);
});

test('what was merged by mistake has its own ids again', async () => {
  const [ana, bia] = [randomUUID(), randomUUID()];
  await apply([
    sample(ana, { email: 'ana@example.com' }),
    sample(bia, { email: 'bia@example.com' }),
  ]);
  await mergeLeads(store, workspaceId, ana, bia);
  expect(await splitLead(store, workspaceId, ana, [])).toMatchObject({
    parts: [{ leadId: ana }, { leadId: bia }],
  });
  expect((await leads())[bia]).toMatchObject({ mergedInto: null, email: 'bia@example.com' });
});

test('what submissions set that are not stored any more stays', async () => {
  const ana = randomUUID();
  const old = sample(ana, { email: 'ana@example.com', profession: 'Atriz' });
  await apply([
    old,
    sample(ana, { email: 'ana@example.com', telephone: PHONE }),
    sample(ana, { email: 'bia@example.com', telephone: PHONE, city: 'Recife' }),
  ]);
  await store.prisma.submission.deleteMany({ where: { id: old.id } });
  await splitLead(store, workspaceId, ana, []);
  expect((await leads())[ana]).toMatchObject({
    profession: 'Atriz',
    city: null,
    creatorId: old.id,
  });
});

test('says that it is not a lead, or erased, or of one person', async () => {
  const [erased, blank] = [randomUUID(), randomUUID()];
  await apply([sample(erased, { email: 'a@example.com' }), sample(blank, { name: 'Ana' })]);
  await store.prisma.lead.updateMany({ where: { id: erased }, data: { erasedOrder: 1 } });
  expect(await splitLead(store, workspaceId, randomUUID(), [])).toEqual({ kind: 'unknown-lead' });
  expect(await splitLead(store, workspaceId, erased, [])).toMatchObject({ kind: 'erased-lead' });
  expect(await splitLead(store, workspaceId, blank, [])).toMatchObject({ kind: 'one-person' });
});

const word = fc.constantFrom('a', 'b', 'c');
const post = fc.record(
  {
    email: fc.constantFrom('1@example.com', '2@example.com', '3@example.com'),
    telephone: fc.constantFrom(PHONE, '5511999999998'),
    name: word,
    city: word,
    utmSource: word,
    address: fc.record({ city: word, number: word }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);

test('each part is what its own submissions make it, and nothing that comes again changes it', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(post, { minLength: 2, maxLength: 10 }),
      fc.nat(9),
      async (posts, cut) => {
        await newWorkspace();
        const id = randomUUID();
        const submissions = posts.map((lead) => sample(id, lead));
        await apply(submissions.slice(cut));
        await apply(submissions.slice(0, cut));
        const split = await splitLead(store, workspaceId, id, []);
        if (split.kind !== 'split') {
          expect(new Set(posts.flatMap(({ email }) => email ?? [])).size).toBeLessThan(2);
          return;
        }
        const first = split.parts[0]?.email;
        const expectParts = async () => {
          const rows = await leads();
          for (const { leadId, email } of split.parts) {
            const own = submissions.filter(({ lead }) => (lead.email ?? first) === email);
            const row = rows[leadId];
            expect(row && readState(row)).toEqual(applySubmissions(emptyLead(), own, []));
          }
        };
        await expectParts();
        await apply(submissions);
        await expectParts();
      },
    ),
    { numRuns: 40 },
  );
});
