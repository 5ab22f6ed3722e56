import { openWorkspace } from '@leadgate/intake';
import { queueCounts } from '@leadgate/queue';
import {
  applyGroup,
  endpointBacklog,
  listEndpoints,
  recordTries,
  takeLanes,
} from '@leadgate/store';
import { sampleSubmission } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  expectUsable,
  type PagesUnderTest,
  pagesUnderTest,
  TELEPHONE,
} from './pages-under-test.ts';

let pages: PagesUnderTest;
let workspaceId: string;
let linkId: string;

beforeAll(async () => {
  pages = await pagesUnderTest();
  ({ workspaceId, linkId } = await pages.makeWorkspace());
  const first = [30, 31].map((n) => sampleSubmission(n, { workspaceId, linkId }));
  await applyGroup(
    pages.console.store,
    first.map((submission) => ({ submission, replay: false })),
  );
});

afterAll(() => pages.close());

const SIZES = [
  ['a desk', { width: 1_280, height: 800 }],
  ['a telephone', TELEPHONE],
] as const;

test.each(SIZES)(
  'an endpoint is added, with what its messages are verified with, and yesterday sent again, at %s',
  async (at, size) => {
    const { store } = pages.console;
    const { page, faults } = await pages.openAs('administrator', size);
    if (at === 'a telephone') await page.emulateMedia({ colorScheme: 'dark' });
    await page.goto('/deliveries');
    await page.locator('main').getByRole('link', { name: 'New endpoint' }).first().click();
    await page.getByLabel('Name').fill(`CRM at ${at}`);
    await page.getByLabel('Address').fill('http://10.0.0.1/hook');
    await expectUsable(page);
    await page.getByRole('button', { name: 'Create' }).click();
    // At its field: deliveries do not go inside.
    await page.getByLabel('Address').and(page.locator('[aria-invalid=true]')).waitFor();
    await page.getByLabel('Address').fill('http://127.0.0.1:1/hook');
    await page.getByLabel('Sends a second').fill('2');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText(/^whsec_/).waitFor();
    await page.getByText('PHP').click();
    await page.getByText('hash_hmac').waitFor();
    await expectUsable(page);
    await page.getByRole('link', { name: 'Go to the endpoint' }).click();
    await page.getByText('Nothing was sent in the last 14 days').waitFor();
    expect(await page.content()).not.toContain('whsec_');

    const endpoint = (await listEndpoints(store, workspaceId)).find((one) => one.name.endsWith(at));
    if (endpoint === undefined) throw new Error('no endpoint');
    const people = [1, 2].map((n) =>
      sampleSubmission(at === 'a desk' ? n : n + 10, { workspaceId, linkId }),
    );
    await applyGroup(
      store,
      people.map((submission) => ({ submission, replay: false })),
    );
    const tryOf = (leadId: string, n: number, outcome: 'delivered' | 'answered') => ({
      ...{ leadId, version: 1, resends: 0, event: 'lead.created' as const, remoteId: null },
      ...{ messageId: `msg_${n}`, outcome, status: outcome === 'delivered' ? 200 : 500 },
      ...{ detail: outcome === 'delivered' ? 'thanks' : 'disk full', durationMs: 31 },
      ...{ retryMs: 0, confirmMs: null },
    });
    const standing = { failures: 0, quietMs: null, disabled: null };
    const owner = randomUUID();
    await takeLanes(store, owner, { leaseMs: 60_000, limit: 1 });
    for (const outcome of ['answered', 'delivered'] as const)
      await recordTries(
        store,
        { owner, endpointId: endpoint.id },
        people.map(({ leadId }, n) => tryOf(leadId, n, outcome)),
        standing,
        1e9,
      );

    await page.getByText('not taken').first().waitFor();
    await page.locator('main').getByText('Failed', { exact: true }).click();
    await page.locator('tbody tr').nth(2).waitFor({ state: 'detached' });
    await page.locator('tbody button').first().click();
    await page.getByText('disk full').waitFor();
    await page.getByText(`POST http://127.0.0.1:1/hook`).waitFor();
    await expectUsable(page);

    await page.getByRole('button', { name: 'Resend' }).click();
    await page.getByRole('radio', { name: 'What it took since yesterday' }).check();
    await expectUsable(page);
    await page.getByRole('dialog').getByRole('button', { name: 'Resend' }).click();
    await page.getByText('2 leads are sent again').waitFor();
    await page.getByText('Done').waitFor();
    expect(await endpointBacklog(store, endpoint.id)).toMatchObject({ waiting: 2 });

    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'New secret' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'New secret' }).click();
    await page.getByText(/^whsec_/).waitFor();
    await expectUsable(page);
    await page.keyboard.press('Escape');
    await page.getByText('signed with the old secret too').waitFor();
    expect(faults.filter((fault) => !fault.includes('422'))).toEqual([]);
  },
  60_000,
);

test.each(SIZES)(
  'an export of Meta is imported: its columns looked at, tried, a refused row seen at its cell, at %s',
  async (at, size) => {
    const { page, faults } = await pages.openAs('operator', size);
    await page.goto('/imports');
    await page.locator('main').getByRole('link', { name: 'Import a file' }).click();
    await page.getByText('Drop a file here').waitFor();
    await expectUsable(page);
    const people = Array.from({ length: 40 }, (_, n) => [
      ...[`l:${at.length}${n}`, '2026-11-20T10:00:00-03:00', 'ag:1', 'f:1', 'Primavera', 'ig'],
      ...[`Pessoa ${n}`, n === 7 ? 'not one' : `meta${n}.${at.length}@example.com`, 'sim'],
    ]);
    const head =
      'id,created_time,ad_id,form_id,campaign_name,platform,full_name,email,quer_visita?'.split(
        ',',
      );
    // As Meta writes it: UTF-16, tabs between columns.
    const text = [head, ...people].map((row) => row.join('\t')).join('\n');
    const buffer = Buffer.from(`\ufeff${text}`, 'utf16le');
    await page
      .getByLabel('File', { exact: true })
      .setInputFiles({ name: 'meta.csv', mimeType: 'text/csv', buffer });
    await page.getByText('6 of 9 columns').waitFor();
    await page.getByRole('combobox', { name: 'quer_visita? goes to' }).click();
    await page.getByRole('option', { name: 'Profession' }).click();
    await page.getByText('7 of 9 columns').waitFor();
    await page.locator('td[data-bad]').getByText('not one').waitFor();
    await expectUsable(page);
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.getByText('39 rows would be taken · 1 refused').waitFor();
    await page.locator('td[data-bad]').getByText('not one').waitFor();
    await expectUsable(page);
    expect((await queueCounts(pages.console.redis)).waiting).toBe(0);
    await page.getByRole('button', { name: 'Import 39 rows' }).click();
    await page.getByText('The file is imported.').waitFor();
    await page.getByText('39 rows taken · 1 refused').waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download them' }).click(),
    ]);
    expect(await readFile(await download.path(), 'utf8')).toContain('not one');
    expect((await queueCounts(pages.console.redis)).waiting).toBe(39);
    await page.getByRole('link', { name: 'Back to the imports' }).click();
    await page.getByRole('cell', { name: 'Import · Black Friday' }).first().waitFor();
    await expectUsable(page);
    await pages.console.redis.flushdb();
    await openWorkspace(pages.console.redis, workspaceId);
    expect(faults).toEqual([]);
  },
  60_000,
);

test('what a replay would do is said before it begins', async () => {
  const { page, faults } = await pages.openAs('operator');
  await page.goto('/imports/replay');
  await page.getByRole('combobox', { name: 'Posts to' }).click();
  await page.getByRole('option', { name: 'Black Friday' }).click();
  await page.getByRole('button', { name: 'What would it do?' }).click();
  await page.getByText(/^\d+ posts would be applied again$/).waitFor();
  await expectUsable(page);
  await page.getByRole('button', { name: 'Replay', exact: true }).click();
  await page.getByText(/^\d+ posts on their way$/).waitFor();
  await page.getByText('Done').waitFor();
  expect(faults).toEqual([]);
}, 60_000);

test.each(SIZES)(
  'a field, days, an operator, a token and a password are set and stand in the audit log, at %s',
  async (at, size) => {
    const { page, faults } = await pages.openAs('administrator', size);
    if (at === 'a telephone') await page.emulateMedia({ colorScheme: 'dark' });
    const dialog = page.getByRole('dialog');
    const open = async (tab: string) => {
      await page.goto(`/settings?tab=${tab}`);
      await page.locator('[role=tabpanel]:visible').locator('button').first().waitFor();
      await expectUsable(page);
    };
    await open('workspace');
    await page.getByLabel('Time zone').fill('Mars/Olympus');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByLabel('Time zone').and(page.locator('[aria-invalid=true]')).waitFor();

    await open('fields');
    await page.getByRole('button', { name: 'New field' }).click();
    await expectUsable(page);
    await dialog.getByLabel('Name').fill(`plano ${at}`);
    await dialog.getByRole('combobox', { name: 'Type' }).click();
    await page.getByRole('option', { name: 'One of a list' }).click();
    await dialog.getByLabel('Options').fill('ouro\nprata');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: `More of plano ${at}` }).waitFor();

    await open('retention');
    await page.getByRole('button', { name: 'Change: Posts as sent' }).click();
    await dialog.getByLabel('For a number of days').check();
    await dialog.getByLabel('Days', { exact: true }).fill('30');
    await dialog.getByText('Nothing would go now.').waitFor();
    await expectUsable(page);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText('30 days').waitFor();

    await open('operators');
    await page.getByRole('button', { name: 'Add an operator' }).click();
    await dialog.getByLabel('Name').fill(`Rui ${at}`);
    await dialog.getByLabel('First password').fill('short');
    await dialog.getByRole('combobox', { name: 'Where' }).click();
    await page.getByRole('option', { name: 'Agência' }).click();
    await dialog.getByRole('button', { name: 'Add an operator' }).click();
    await dialog.getByRole('alert').waitFor();
    await dialog.getByLabel('First password').fill('long enough to sign in');
    await dialog.getByRole('button', { name: 'Add an operator' }).click();
    await page
      .getByRole('cell', { name: `Rui ${at}` })
      .first()
      .waitFor();
    await page.getByText('Agência: Operator').filter({ visible: true }).first().waitFor();

    await open('tokens');
    await page.getByRole('button', { name: 'New token' }).click();
    await dialog.getByLabel('Name').fill(`n8n ${at}`);
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('It is shown this once.').waitFor();
    await expectUsable(page);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: `Revoke n8n ${at}` }).click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Revoked').filter({ visible: true }).first().waitFor();

    await page.goto('/account');
    await page.getByText('this one').waitFor();
    await expectUsable(page);
    await page.goto('/audit');
    await page.getByPlaceholder('link, or link.disable').fill('token');
    await page.getByText('token.revoke').first().waitFor();
    await page.getByText('operator.add').first().waitFor({ state: 'detached' });
    await expectUsable(page);
    const ask = await pages.console.signIn(`Bia at ${at}`, 'operator');
    const payload = { linkLimit: at.length };
    const changed = await ask('PATCH', `/api/links/${linkId}`, { payload });
    expect(changed.statusCode).toBe(200);
    await page.getByPlaceholder('link, or link.disable').fill('link');
    const row = page.locator('tbody tr').filter({ hasText: `Bia at ${at}` });
    await row.waitFor();
    const changes = row.locator('.changes').filter({ visible: true });
    expect(await changes.textContent()).toMatch(/^linkLimit.+ → \d+$/);
    expect(await changes.locator('ins').textContent()).toBe(String(at.length));
    await expectUsable(page);
    expect(faults.filter((fault) => !fault.includes('422'))).toEqual([]);
  },
  60_000,
);

test('a workspace is made, and removed by its name when it was said what goes; the form behind is not sent', async () => {
  const { page, faults } = await pages.openAs('administrator');
  const changes: string[] = [];
  page.on('request', (request) => {
    if (request.method() === 'PATCH') changes.push(request.url());
  });
  const dialog = page.getByRole('dialog');
  const name = `Passageira ${randomUUID().slice(0, 4)}`;
  const shown = page.getByRole('combobox', { name: 'Workspace' });
  await page.goto('/settings');
  await page.getByRole('button', { name: 'New workspace' }).click();
  await dialog.getByLabel('Name').fill(name);
  await dialog.getByLabel('Name').press('Enter');
  await dialog.waitFor({ state: 'detached' });
  await expect.poll(() => shown.inputValue()).toBe(name);

  await page.getByRole('button', { name: 'Remove this workspace' }).click();
  await dialog.getByText('No lead, no post, no capture link and no endpoint go').waitFor();
  const remove = dialog.getByRole('button', { name: 'Remove this workspace' });
  await dialog.getByLabel('Type its name').fill(name.slice(0, -1));
  expect(await remove.isDisabled()).toBe(true);
  await dialog.getByLabel('Type its name').fill(name);
  await expectUsable(page);
  await remove.click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await expect.poll(() => shown.inputValue()).toBe('Agência');
  expect(await pages.console.store.prisma.workspace.count({ where: { name } })).toBe(0);
  expect(changes).toEqual([]);
  expect(faults).toEqual([]);
}, 60_000);

test.each(SIZES)(
  'a viewer is told what needs another role, at %s',
  async (_at, size) => {
    const { page, faults } = await pages.openAs('viewer', size);
    for (const path of ['/deliveries', '/imports/new', '/imports/replay', '/audit']) {
      await page.goto(path);
      await page.getByText('This needs another role').waitFor();
    }
    await page.goto('/settings?tab=fields');
    await page.locator('[role=tabpanel]:visible').waitFor();
    expect(await page.getByRole('button', { name: 'New field' }).count()).toBe(0);
    await expectUsable(page);
    expect(faults).toEqual([]);
  },
  60_000,
);

test('a demo says on every page that it is one, and how it is removed', async () => {
  const { store } = pages.console;
  await store.prisma.workspace.update({ where: { id: workspaceId }, data: { demo: 'full' } });
  const { page, faults } = await pages.openAs('viewer', TELEPHONE);
  await page.emulateMedia({ colorScheme: 'dark' });
  for (const path of ['/', '/links', '/account']) {
    await page.goto(path);
    await page.getByText('npx leadgate demo remove').waitFor();
  }
  await page.getByRole('heading', { name: 'Account' }).waitFor();
  await expectUsable(page);
  await store.prisma.workspace.update({ where: { id: workspaceId }, data: { demo: null } });
  await page.goto('/links');
  await page.getByRole('heading', { name: 'Links' }).waitFor();
  expect(await page.getByText('npx leadgate demo remove').count()).toBe(0);
  expect(faults).toEqual([]);
}, 60_000);
