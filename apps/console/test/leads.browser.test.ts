import { randomUUID } from 'node:crypto';
import { Keyring } from '@leadgate/boot';
import { LEAD_EVENTS } from '@leadgate/contract';
import { newSecret } from '@leadgate/delivery';
import { applyGroup, createEndpoint, createField, recordTries, showLead } from '@leadgate/store';
import { sampleSubmission } from '@leadgate/testkit';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import {
  expectUsable,
  type PagesUnderTest,
  pagesUnderTest,
  TELEPHONE,
} from './pages-under-test.ts';

let pages: PagesUnderTest;
let workspaceId: string;
let linkId: string;
let people: readonly { leadId: string }[];

beforeAll(async () => {
  pages = await pagesUnderTest();
  ({ workspaceId, linkId } = await pages.makeWorkspace());
  await createField(pages.console.store, workspaceId, {
    ...{ name: 'team_size', label: 'Team size', type: 'text', options: [] },
  });
  const now = Date.now() * 1_000;
  const posted = Array.from({ length: 260 }, (_, n) => {
    const order = now - (260 - n) * 60_000_000;
    const email = `pessoa${n}@example.com`;
    const lead =
      n % 4 === 0 ? { name: `Pessoa ${n}`, email } : { ...PHONE(n), name: `Pessoa ${n}` };
    return sampleSubmission(n, {
      ...{ workspaceId, linkId, order, stamp: order },
      lead: n === 259 ? { ...lead, ...LONG } : lead,
    });
  });
  await applyGroup(
    pages.console.store,
    posted.map((submission) => ({ submission, replay: false })),
  );
  people = posted;
});

afterAll(() => pages.close());

/** The n-th who posted. */
function personAt(n: number): { leadId: string } {
  const person = people[n];
  if (person === undefined) throw new Error(`no person ${n}`);
  return person;
}

const SIZES = [
  ['a desk', { width: 1_280, height: 800 }],
  ['a telephone', TELEPHONE],
] as const;

/** More than stands in a row of a desk's width. */
const LONG = {
  email: 'pessoa.de.nome.muito.comprido@empresa.example.com',
  city: 'São José do Rio Preto',
  utmSource: 'instagram',
  utmCampaign: 'lancamento-plano-familia-remarketing-novembro',
};

const PHONE = (n: number) => ({ telephone: `55119${String(10_000_000 + n)}` });

test('leads are filtered by the address, exported as filtered, and one is opened with the keyboard', async () => {
  const { page, faults } = await pages.openAs('operator');
  await page.goto('/leads');
  await page.getByRole('link', { name: 'Pessoa 259', exact: true }).waitFor();
  await expectUsable(page);
  await page.getByRole('button', { name: 'Filter' }).click();
  await page.getByText('No phone').click();
  await page.waitForURL(/telephone=no/);
  await page.keyboard.press('Escape');
  await page.getByText('All 65 leads').waitFor();
  await page.reload();
  await page.getByText('All 65 leads').waitFor();

  const views = page.getByRole('button', { name: 'Views' });
  await views.click();
  await page.getByLabel('Name of this view').fill('To write to');
  await page.getByRole('button', { name: 'Keep' }).click();
  const view = page.getByRole('button', { name: 'To write to', exact: true });
  await view.waitFor();
  await expectUsable(page);
  await page.goto('/leads');
  await page.getByRole('link', { name: 'Pessoa 259', exact: true }).waitFor();
  await views.click();
  await view.click();
  await page.getByText('All 65 leads').waitFor();
  expect(page.url()).toContain('telephone=no');
  await page.getByRole('button', { name: 'Remove the view To write to' }).click();
  await view.waitFor({ state: 'detached' });
  await page.reload();
  await views.click();
  await page.getByLabel('Name of this view').waitFor();
  expect(await view.count()).toBe(0);
  await page.keyboard.press('Escape');

  await page.getByRole('button', { name: 'Export' }).click();
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('menuitem', { name: 'CSV' }).click(),
  ]);
  const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
  expect(lines).toHaveLength(66);
  await page.getByRole('button', { name: 'Remove the filter No phone' }).click();

  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  await page.getByRole('button', { name: 'Filter', exact: true }).click();
  await page.getByRole('combobox', { name: 'Custom field' }).click();
  await page.getByRole('option', { name: 'Team size' }).click();
  await page.getByLabel('Value', { exact: true }).fill('secret of a person');
  await page.keyboard.press('Escape');
  await page.getByText('No lead fits', { exact: true }).waitFor();
  expect([...addresses, page.url()].join()).not.toContain('secret');
  expect(addresses.length).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Remove the filter Team size' }).click();
  await page.getByRole('link', { name: 'Pessoa 259', exact: true }).waitFor();
  await page.locator('h1').click();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Pessoa 258' }).waitFor();
  await expectUsable(page);
  expect(faults).toEqual([]);
}, 120_000);

test('a list goes on as one scrolls, with few rows in the page', async () => {
  const { page, faults } = await pages.openAs('operator');
  await page.goto('/leads');
  await page.getByRole('link', { name: 'Pessoa 259', exact: true }).waitFor();
  const last = page.getByRole('link', { name: 'Pessoa 0', exact: true });
  await vi.waitFor(
    async () => {
      await page.keyboard.press('End');
      expect(await last.isVisible()).toBe(true);
    },
    { timeout: 30_000, interval: 200 },
  );
  expect(await page.locator('tbody tr[data-index]').count()).toBeLessThan(80);
  expect(faults).toEqual([]);
}, 120_000);

test.each(SIZES)(
  'a viewer sees who there is, masked, at %s',
  async (_at, size) => {
    for (const role of ['viewer', 'operator'] as const) {
      const { page, faults } = await pages.openAs(role, size);
      await page.goto('/leads');
      await page.locator('a.row').first().waitFor();
      await expectUsable(page);
      const seen = await page.textContent('main');
      if (role === 'viewer') expect(seen).not.toMatch(/Pessoa|pessoa\d/);
      else expect(seen).toContain('Pessoa 259');
      await page.goto(`/leads/${personAt(0).leadId}`);
      await page.getByRole('heading', { name: 'Timeline' }).waitFor();
      await expectUsable(page);
      if (role === 'viewer') expect(await page.textContent('main')).not.toMatch(/Pessoa|pessoa\d/);
      expect(await page.getByRole('link', { name: 'Export' }).count()).toBe(
        role === 'viewer' ? 0 : 1,
      );
      expect(faults).toEqual([]);
    }
  },
  120_000,
);

test.each(SIZES)(
  'an administrator sees whom a person was sent to and who read it, and erases it, hearing first what goes, at %s',
  async (at, size) => {
    const { store } = pages.console;
    const n = at === 'a desk' ? 0 : 4;
    const { leadId } = personAt(n);
    const ask = await pages.console.signIn(`operator at ${at}`, 'operator');
    expect(await ask('GET', `/api/leads/${leadId}`)).toMatchObject({ statusCode: 200 });
    const made = await createEndpoint(
      store,
      workspaceId,
      {
        ...{
          name: `CRM at ${at}`,
          url: 'https://crm.example.com/',
          mapping: null,
          events: [...LEAD_EVENTS],
        },
        ...{ linkIds: [], perSecond: null, concurrency: 8, headers: {} },
      },
      { secret: newSecret(), keyring: new Keyring('of this test only') },
    );
    if (made.kind !== 'done') throw new Error(made.kind);
    const sent = {
      ...{ leadId, version: 1, resends: 0, event: 'lead.created' as const },
      ...{ messageId: 'msg_1', outcome: 'delivered' as const, status: 200, detail: '' },
      ...{ durationMs: 5, retryMs: 0, confirmMs: null, remoteId: null },
    };
    const standing = { failures: 0, quietMs: null, disabled: null };
    const lane = { owner: randomUUID(), endpointId: made.endpoint.id };
    await recordTries(store, lane, [sent], standing, 1e9);
    const { page, faults } = await pages.openAs('administrator', size);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.goto(`/leads/${leadId}`);
    await page.getByRole('heading', { level: 1, name: `Pessoa ${n}`, exact: true }).waitFor();
    const timeline = page.locator('.lead-history');
    await timeline.getByText(`Sent to CRM at ${at}`).waitFor();
    await timeline.getByText('200 · delivered').waitFor();
    await timeline
      .getByText(/^Read by operator/)
      .first()
      .waitFor();
    await expectUsable(page);
    await page.getByRole('button', { name: 'More actions' }).click();
    await page.getByRole('menuitem', { name: 'Erase' }).click();
    await page.getByText('One post, 2 emails and phones and nothing else would go.').waitFor();
    await expectUsable(page);
    await page.getByLabel('Reason').fill('asked for it by letter');
    await page.getByLabel('I know that this cannot be undone').check();
    await page.getByRole('button', { name: 'Erase' }).click();
    await page
      .locator('main')
      .getByText(/was erased on .*asked for it by letter/)
      .waitFor();
    const left = await showLead(store, leadId, { historyLimit: 1 });
    expect(left).toMatchObject({ erased: true });
    // A browser says of its own that the API answered 410.
    expect(faults.filter((fault) => !fault.includes('status of 410'))).toEqual([]);
  },
  120_000,
);

test.each(SIZES)(
  'the silent campaign is found from the start page, at %s',
  async (_at, size) => {
    const { prisma } = pages.console.store;
    await prisma.alarm.deleteMany();
    await prisma.alarm.create({ data: { kind: 'silence', subject: linkId, workspaceId } });
    const hour = Math.floor(Date.now() / 3_600_000) * 3_600_000;
    await prisma.seriesHour.createMany({
      skipDuplicates: true,
      data: [0, 1, 2, 168, 169].flatMap((ago) =>
        ['accepted', 'created', 'refused:invalid-lead'].map((what) => ({
          ...{ subject: workspaceId, at: new Date(hour - ago * 3_600_000), what, n: 10 },
        })),
      ),
    });
    const { page, faults } = await pages.openAs('viewer', size);
    await page.goto('/');
    const alarm = page.getByText('“Black Friday” usually has posts at this time, and has none.');
    await alarm.waitFor();
    const leads = page.locator('.figure').filter({ hasText: 'than a week before' });
    expect(await leads.textContent()).toMatch(/Leads30\+50 ?%/);
    await page.getByText('All 0 posts accepted in the last 24 hours').waitFor();
    expect(await page.locator('.chart table tbody tr').count()).toBe(24);
    await expectUsable(page);
    await page.getByText('Days', { exact: true }).click();
    await page.getByRole('heading', { name: 'Leads a day' }).waitFor();
    await page.emulateMedia({ colorScheme: 'dark' });
    await expectUsable(page);
    await page.getByRole('link', { name: 'Look' }).click();
    await page.getByRole('heading', { level: 1, name: 'Black Friday' }).waitFor();

    await page.goto('/queue');
    await page.getByRole('heading', { name: 'In and out, a minute' }).waitFor();
    await page.locator('dd').getByText('Now', { exact: true }).waitFor();
    await expectUsable(page);
    expect(faults).toEqual([]);
  },
  60_000,
);
