import type { Submission } from '@leadgate/contract';
import { applyGroup, createWorkspace, openStore, type Store } from '@leadgate/store';
import { sampleSubmission, testDatabase } from '@leadgate/testkit';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { audit } from './audit.ts';
import { auditDeliveries } from './endpoints.ts';
import type { Accepted } from './ledger.ts';
import { markOf, type Post } from './people.ts';

/** An audit that finds nothing is worth what it would have found. */

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let admin: pg.Client;
let workspaceId: string;
beforeEach(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 1 });
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  const creation = await createWorkspace(store, {
    name: 'audited',
    country: 'BR',
    dummyPhones: [],
  });
  workspaceId = creation.kind === 'created' ? creation.workspace.id : '';
});
afterEach(async () => {
  await admin.end();
  await store.close();
  await database.drop();
});

/** The submission of a post, as the worker gets it. */
function submissionOf(post: number, change: Partial<Submission> = {}): Submission {
  const submission = sampleSubmission(post, { workspaceId, ...change });
  return { ...submission, lead: { ...submission.lead, utmContent: markOf(post) } };
}

const apply = (...submissions: Submission[]) =>
  applyGroup(
    store,
    submissions.map((submission) => ({ submission, replay: false })),
  );

const answerOf = ({ id, leadId }: Submission, post: number, key: string | null): Accepted => ({
  ...{ post, key, workspaceId, submissionId: id, leadId },
  ...{ code: 'code', body: '', at: 0 },
});

const sent = (...posts: [post: number, key: string | null, times: number][]) =>
  new Map(
    posts.map(([post, key, times]): [number, { post: Post; times: number }] => [
      post,
      {
        post: { post, key, body: '', target: { workspaceId, code: 'code', isForeign: false } },
        times,
      },
    ]),
  );

test('what was accepted and stands is counted, and nothing is found', async () => {
  const [a, b] = [submissionOf(1), submissionOf(2)];
  await apply(a, b);
  const ledger = [answerOf(a, 1, 'key-1'), answerOf(a, 1, 'key-1'), answerOf(b, 2, null)];
  const found = await audit(database.url, ledger, sent([1, 'key-1', 2], [2, null, 1]));
  expect(found).toMatchObject({ accepted: 2, applied: 2, lost: 0, doubled: 0, violations: [] });
});

test('a 202 without its submission is lost, with and without a key', async () => {
  const [a, b, c] = [submissionOf(1), submissionOf(2), submissionOf(3)];
  await apply(c);
  const ledger = [answerOf(a, 1, 'key-1'), answerOf(b, 2, null), answerOf(c, 3, null)];
  const found = await audit(database.url, ledger, sent());
  expect(found).toMatchObject({ accepted: 3, applied: 1, lost: 2 });
});

test('a post that was not understood stands by its body', async () => {
  const a = submissionOf(1, { body: `{"form":{"utmContent":"${markOf(1)}"}}` });
  const { utmContent: _, ...lead } = a.lead;
  await apply({ ...a, lead });
  const found = await audit(database.url, [answerOf(a, 1, 'key-1')], sent([1, 'key-1', 1]));
  expect(found).toMatchObject({ accepted: 1, applied: 1, lost: 0, doubled: 0 });
});

test('what waited in a Redis that was thrown away may be lost, and nothing else', async () => {
  const [a, b, c] = [submissionOf(1), submissionOf(2), submissionOf(3)];
  const ledger = [answerOf(a, 1, 'key-1'), answerOf(b, 2, null), answerOf(c, 3, 'key-3')];
  const thrownAway = { restores: 1, submissions: new Set([b.id]), marks: new Set([markOf(1)]) };
  const found = await audit(database.url, ledger, sent(), thrownAway);
  expect(found).toMatchObject({ accepted: 1, applied: 0, lost: 1, thrownAway: 2 });
});

test('after a restore each answer of a key stands for its own submission, and for no other', async () => {
  const [a, other] = [submissionOf(1), submissionOf(2)];
  const b = { ...other, lead: { ...other.lead, utmContent: markOf(1) } };
  await apply(a, b);
  const thrownAway = { restores: 1, submissions: new Set<string>(), marks: new Set<string>() };
  const found = (...ledger: Accepted[]) =>
    audit(database.url, ledger, sent([1, 'key-1', 2]), thrownAway);
  const [first, second] = [answerOf(a, 1, 'key-1'), answerOf(b, 1, 'key-1')];
  expect(await found(first, second)).toMatchObject({ doubled: 0, violations: [] });
  const { violations } = await found(first, { ...second, leadId: a.leadId });
  expect(violations.join()).toMatch(/is in lead/);
});

test('a key with two submissions is doubled, and so is a post that stands more often than it was sent', async () => {
  const again = (post: number) =>
    submissionOf(post + 100, {
      leadId: submissionOf(post).leadId,
      identities: submissionOf(post).identities,
    });
  const twice = (post: number): Submission[] => {
    const second = again(post);
    return [submissionOf(post), { ...second, lead: { ...second.lead, utmContent: markOf(post) } }];
  };
  await apply(...twice(1), ...twice(2), ...twice(3));
  const found = await audit(database.url, [], sent([1, 'key-1', 2], [2, null, 1], [3, null, 2]));
  expect(found.doubled).toBe(2);
});

test.each([
  [
    'a field that another submission should have set',
    `UPDATE lead SET name = 'Eve'`,
    /is not what/,
  ],
  ['provenance of a field', `UPDATE lead SET provenance = '[]'`, /is not what/],
  ['an identity', 'DELETE FROM identity', /held by none/],
  ['a lead', 'DELETE FROM lead', /does not resolve/],
])('%s that is not as it should be is found', async (_, damage, message) => {
  const a = submissionOf(1);
  await apply(a);
  await admin.query(damage);
  const { violations } = await audit(database.url, [answerOf(a, 1, 'k')], sent([1, 'k', 1]));
  expect(violations.join('\n')).toMatch(message);
});

test('an identity that another lead claimed after a restore is well where the two are kept as a pair, and only then', async () => {
  const [a, b] = [submissionOf(1), submissionOf(2)];
  await apply(a, b);
  const key = a.identities[0]?.key;
  await admin.query('UPDATE identity SET lead_id = $1 WHERE key = $2', [b.leadId, key]);
  const found = async (restores: number) => {
    const thrownAway = { restores, submissions: new Set<string>(), marks: new Set<string>() };
    return (await audit(database.url, [], sent(), thrownAway)).violations;
  };
  expect(await found(1)).toHaveLength(1);
  await admin.query(
    'INSERT INTO possible_duplicate (workspace_id, lead_a, lead_b) VALUES ($1, $2, $3)',
    [workspaceId, ...[a.leadId, b.leadId].sort()],
  );
  expect(await found(0)).toHaveLength(1);
  expect(await found(1)).toEqual([]);
});

test('an answered id that stands for another lead than the submission’s is found', async () => {
  const [a, b] = [submissionOf(1), submissionOf(2)];
  await apply(a, b);
  const ledger = [{ ...answerOf(a, 1, 'k'), leadId: b.leadId }];
  const { violations } = await audit(database.url, ledger, sent());
  expect(violations).toEqual([expect.stringContaining(`lead id ${b.leadId} was answered`)]);
});

test('a lead that an endpoint was not told of, or knows otherwise than it stands, is found', async () => {
  const submissions = [submissionOf(1), submissionOf(2), submissionOf(3)];
  await apply(...submissions);
  const [a = '', b = '', c = ''] = submissions.map(({ leadId }) => leadId);
  const { rows } = await admin.query<Record<string, string>>(
    'SELECT id, name, email, telephone, city FROM lead',
  );
  const told = (id: string) => {
    const row = rows.find((one) => one['id'] === id);
    return JSON.stringify(['name', 'email', 'telephone', 'city'].map((name) => row?.[name]));
  };
  const endpoint = { workspaceId, ended: new Map<string, number>(), messages: 3, faults: [] };
  const well = [a, b, c].map((id) => [id, { version: 1, told: told(id) }] as const);
  expect(await auditDeliveries(database.url, [{ ...endpoint, known: new Map(well) }])).toEqual({
    ...{ messages: 3, undelivered: 0, staleWins: 0, violations: [] },
  });
  const known = new Map([...well, [b, { version: 1, told: 'old' }] as const]);
  known.delete(c);
  known.set('gone', { version: 1, told: '' });
  const found = await auditDeliveries(database.url, [{ ...endpoint, known }]);
  expect(found).toMatchObject({ undelivered: 1, staleWins: 1 });
  expect(found.violations).toHaveLength(3);
});
