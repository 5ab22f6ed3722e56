import { bareSubmission, testDatabase } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyGroup } from './apply/apply-group.ts';
import { splitLead } from './apply/merges.ts';
import { type ConsentProof, consentProofs, fillConsents } from './consents.ts';
import { erasePerson } from './erase.ts';
import { showLead } from './lead-details.ts';
import { openStore, type Store } from './open-store.ts';
import { dropAcceptedBefore } from './retention.ts';
import { showSubmission } from './submissions.ts';
import { erasureKeyOf } from './tombstones.ts';

const workspaceId = randomUUID();
let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let other: pg.Client;

beforeAll(async () => {
  database = await testDatabase();
  const erasureKey = erasureKeyOf('a key of the tests, long enough to hash');
  store = openStore({ url: database.url, poolSize: 4, erasureKey });
  other = new pg.Client({ connectionString: database.url });
  await other.connect();
  await store.prisma.workspace.create({ data: { id: workspaceId, name: 'Acme' } });
});
afterAll(async () => {
  await other.end();
  await store.close();
  await database.drop();
});

const post = (leadId: string, email: string, text: string) =>
  bareSubmission({
    ...{ workspaceId, leadId, lead: { email }, page: 'https://lp.example/' },
    consent: { given: true, text, textVersion: '3', language: 'pt-BR' },
  });
const apply = (...submissions: ReturnType<typeof post>[]) =>
  applyGroup(
    store,
    submissions.map((submission) => ({ submission, replay: false })),
  );
const consentsOf = async (leadId: string) =>
  (await showLead(store, leadId, { historyLimit: 1 }))?.consents;

const erase = (leadId: string) =>
  erasePerson(
    store,
    {
      ...{ workspaceId, leadIds: [leadId], identities: [], offeredLeadId: leadId },
      ...{ reason: 'asked', erasedBy: 'tests', erasedAt: new Date(), order: 1_700_000_001_000_000 },
    },
    { dryRun: false, record: () => Promise.resolve() },
  );

/** As before there was a table of consents. */
async function forgetConsents(): Promise<void> {
  await other.query('DELETE FROM consent');
  await other.query('UPDATE consent_fill SET after = DEFAULT, filled_at = NULL');
}

test('a consent is recorded with its submission, and nobody changes it', async () => {
  const leadId = randomUUID();
  const submission = post(leadId, 'ana@example.com', 'Aceito.');
  await apply(submission);
  await apply(submission);
  const recorded = {
    ...{ action: 'granted', given: true, text: 'Aceito.', textVersion: '3', language: 'pt-BR' },
    page: 'https://lp.example/',
  };
  expect(await consentsOf(leadId)).toMatchObject([recorded]);
  for (const change of [
    ...["action = 'refused'", "text = 'Outra coisa.'", 'text = NULL', "language = 'en'"],
    ...["text = NULL, text_sha256 = 'x'", "page = 'https://other.example/'", 'stamp = 1'],
    ...["recorded_at = now() - interval '1 year'", 'link_id = gen_random_uuid()'],
  ])
    await expect(other.query(`UPDATE consent SET ${change}`), change).rejects.toThrow(
      'a consent stays as it was recorded',
    );
  expect(await consentsOf(leadId)).toMatchObject([recorded]);
});

test('it outlives its submission, also one that was stored before there was a table', async () => {
  const [leadId, before] = [randomUUID(), randomUUID()];
  await apply(post(before, 'bia@example.com', 'Aceito antes.'));
  await forgetConsents();
  await apply(post(leadId, 'caio@example.com', 'Aceito depois.'));
  const horizon = new Date(Date.now() + 1_000);
  expect(await dropAcceptedBefore(store, 'submission', horizon)).toMatchObject({ kind: 'dropped' });
  const { rows } = await other.query('SELECT FROM submission');
  expect(rows).toEqual([]);
  expect(await consentsOf(before)).toMatchObject([{ text: 'Aceito antes.' }]);
  expect(await consentsOf(leadId)).toMatchObject([{ text: 'Aceito depois.' }]);
});

test('those of submissions that were there before are recorded, by several workers at once', async () => {
  const leads = Array.from({ length: 40 }, () => randomUUID());
  await apply(...leads.map((id, n) => post(id, `person${n}@example.com`, `Aceito ${n}.`)));
  const [gone = '', ...others] = leads;
  await forgetConsents();
  const erasing = erase(gone);
  const filling = Array.from({ length: 3 }, async () => {
    while ((await fillConsents(store)) !== null);
  });
  await Promise.all([erasing, ...filling]);
  for (const [n, id] of others.entries())
    expect(await consentsOf(id)).toMatchObject([{ text: `Aceito ${n + 1}.` }]);
  expect(await consentsOf(gone)).toMatchObject([{ text: 'Aceito 0.', page: null }]);
});

test('it goes with its submission to the part of a lead that is split', async () => {
  const leadId = randomUUID();
  const [ana, bia] = [
    post(leadId, 'ana@split.example', 'Ana.'),
    post(leadId, 'bia@split.example', 'Bia.'),
  ];
  await apply(ana, bia);
  const split = await splitLead(store, workspaceId, leadId, []);
  const parts = split.kind === 'split' ? split.parts.map((part) => part.leadId) : [];
  expect(parts).toHaveLength(2);
  expect(await consentsOf(parts[0] ?? '')).toMatchObject([{ text: 'Ana.' }]);
  expect(await consentsOf(parts[1] ?? '')).toMatchObject([{ text: 'Bia.' }]);
  expect((await showSubmission(store, bia.id))?.consent).toMatchObject({ text: 'Bia.' });
});

test('a withdrawal stands beside what was granted, and changes nothing else of the lead', async () => {
  const leadId = randomUUID();
  await apply(post(leadId, 'withdraws@example.com', 'Aceito.'));
  const before = await showLead(store, leadId, { historyLimit: 1 });
  const withdrawal = (of: string) =>
    bareSubmission({
      ...{ workspaceId, leadId: of, source: 'withdrawal', body: '', consent: { given: false } },
    });
  await apply(withdrawal(leadId));
  const after = await showLead(store, leadId, { historyLimit: 1 });
  expect(after?.consents.map(({ action }) => action)).toEqual(['withdrawn', 'granted']);
  // People see it: endpoints are told.
  const { updatedAt: _, consents: __, history: ___, submissions: ____, ...values } = before ?? {};
  expect(after).toMatchObject(values);
  expect(after?.updatedAt).not.toBe(before?.updatedAt);

  // Of somebody who was erased since, nobody begins anew.
  await erase(leadId);
  const { applied } = await apply(withdrawal(leadId));
  expect(applied).toMatchObject([{ outcome: 'erased', leadId }]);
  expect((await consentsOf(leadId))?.map(({ action }) => action)).toEqual(['withdrawn', 'granted']);
});

async function allProofs(within: { since?: Date }): Promise<ConsentProof[]> {
  const all: ConsentProof[] = [];
  for await (const page of consentProofs(store, workspaceId, within)) all.push(...page);
  return all;
}

test('proofs are handed on in pages, of the leads that they are of today', async () => {
  const proofs = await allProofs({});
  const { rows } = await other.query('SELECT count(*)::int AS count FROM consent');
  expect(rows).toEqual([{ count: proofs.length }]);
  expect(new Set(proofs.map(({ submissionId }) => submissionId)).size).toBe(proofs.length);
  expect(proofs).toContainEqual(
    expect.objectContaining({ action: 'withdrawn', erasedAt: expect.any(String) as string }),
  );
  expect(await allProofs({ since: new Date(Date.now() + 60_000) })).toEqual([]);
});
