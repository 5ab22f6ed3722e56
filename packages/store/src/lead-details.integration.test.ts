import { bareSubmission, testDatabase } from '@leadgate/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { applyGroup } from './apply/apply-group.ts';
import { showLead } from './lead-details.ts';
import { openStore, type Store } from './open-store.ts';
import { showSubmission } from './submissions.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
const workspaceId = randomUUID();

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 4 });
  await store.prisma.workspace.create({ data: { id: workspaceId, name: 'Acme' } });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

test('a consent stands as it came, though a later one says no and its submission is replayed', async () => {
  const leadId = randomUUID();
  const person = { workspaceId, leadId, lead: { email: 'ana@example.com' } };
  const yes = bareSubmission({
    ...person,
    consent: { given: true, textVersion: '2026-03' },
    page: 'https://shop.example.com/',
    address: '203.0.113.7',
    userAgent: 'Browser/1',
  });
  const no = bareSubmission({ ...person, consent: { given: false, text: 'Aceito.' } });
  const none = bareSubmission(person);
  const items = [yes, no, none].map((submission) => ({ submission, replay: false }));
  await applyGroup(store, items);
  const changed = { ...yes, consent: { given: false } };
  await applyGroup(store, [{ submission: changed, replay: true }]);

  const lead = await showLead(store, leadId, { historyLimit: 1 });
  expect(lead?.consents).toEqual([
    {
      action: 'refused',
      given: false,
      text: 'Aceito.',
      submissionId: no.id,
      at: new Date(no.stamp / 1_000).toISOString(),
      page: null,
      address: null,
      userAgent: null,
    },
    {
      action: 'granted',
      given: true,
      textVersion: '2026-03',
      submissionId: yes.id,
      at: new Date(yes.stamp / 1_000).toISOString(),
      page: 'https://shop.example.com/',
      address: '203.0.113.7',
      userAgent: 'Browser/1',
    },
  ]);
  expect((await showSubmission(store, yes.id))?.consent).toEqual(lead?.consents[1]);
  expect((await showSubmission(store, none.id))?.consent).toBeNull();
});
