import { applyGroup, listLinks } from '@leadgate/store';
import { sampleSubmission } from '@leadgate/testkit';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  expectUsable,
  type PagesUnderTest,
  pagesUnderTest,
  TELEPHONE,
} from './pages-under-test.ts';

let pages: PagesUnderTest;
let workspaceId: string;

beforeAll(async () => {
  pages = await pagesUnderTest(inject('chromium'));
  ({ workspaceId } = await pages.furnish());
});

afterAll(() => pages.close());

const linkOf = async (label: string) => {
  const link = (await listLinks(pages.console.store, workspaceId)).find(
    (one) => one.label === label,
  );
  if (link === undefined) throw new Error(`no link ${label}`);
  return link;
};

test.each([
  ['a desk', { width: 1_280, height: 800 }],
  ['a telephone', TELEPHONE],
])(
  'a link is made and its first lead seen, at %s',
  async (at, size) => {
    const label = `Primavera ${at}`;
    const { page, faults } = await pages.openAs('operator', size);
    await page.goto('/links');
    await page.getByRole('link', { name: 'Black Friday' }).waitFor();
    await expectUsable(page);
    await page.getByRole('link', { name: 'New link' }).click();
    await page.getByLabel('Label, for operators').fill(label);
    await page.getByText('Take it without the field').click();
    await page
      .getByLabel('Sites that may post')
      .fill('https://lp.example.com\nhttps://lp2.example.com');
    await page.getByLabel('Take posts of servers too').uncheck();
    await page.getByLabel('Posts a minute', { exact: true }).fill('600');
    await page.getByLabel('Honeypot field').fill('email');
    await page.getByLabel('Seconds to fill in').fill('2.5');
    await page.getByRole('combobox', { name: 'CAPTCHA' }).click();
    await page.getByRole('option', { name: 'Turnstile' }).click();
    await page.getByLabel('Its secret').fill('shh-secret');
    await page.getByLabel('Hold posts that could not be checked').check();
    await page.getByLabel('Last day').fill('2199-12-31');
    await expectUsable(page);
    await page.getByRole('button', { name: 'Create' }).click();
    // At its field, and what was typed stays.
    await page.getByLabel('Honeypot field').and(page.locator('[aria-invalid=true]')).waitFor();
    await page.getByLabel('Honeypot field').fill('website');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { level: 1, name: label }).waitFor();
    await page.getByText('Waiting for the first lead').waitFor();
    await expectUsable(page);
    const link = await linkOf(label);
    expect(link).toMatchObject({
      ...{ mode: 'lenient', allowServers: false, linkLimit: 600 },
      origins: ['https://lp.example.com', 'https://lp2.example.com'],
      guard: { honeypot: 'website', minFillSeconds: 2.5, captcha: { fail: 'closed' } },
    });
    expect(await page.textContent('main')).toContain(`/ingest/${link.codes[0]?.code}`);

    const n = at === 'a desk' ? 1 : 2;
    const submission = sampleSubmission(n, { workspaceId, linkId: link.id });
    await applyGroup(pages.console.store, [{ submission, replay: false }]);
    await page.getByRole('link', { name: 'Maria Aparecida da Silva' }).click();
    await page.getByText(`Posted to ${label}`).waitFor();
    expect(faults.filter((fault) => !fault.includes('422'))).toEqual([]);
  },
  60_000,
);

test('a link is changed, mapped, given another code and closed; its secret is shown to no page', async () => {
  const { page, faults } = await pages.openAs('operator');
  await page.goto('/links');
  await page.getByRole('link', { name: 'Primavera a desk' }).click();
  await page.getByRole('tab', { name: 'Settings' }).click();
  await page.getByLabel('Where a plain HTML form goes').fill('https://lp.example.com/obrigado');
  expect(await page.getByLabel('Last day').inputValue()).toBe('2199-12-31');
  await expectUsable(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved', { exact: true }).waitFor();
  expect(await page.content()).not.toContain('shh-secret');

  await page.getByRole('tab', { name: 'Mapping' }).click();
  await page.getByRole('button', { name: 'Add a rule' }).click();
  await page.getByLabel('Field of the lead').fill('email');
  await page.getByLabel('JSONPath').fill('$.contact.mail\n$.email');
  await expect.poll(() => page.getByLabel('A body of the sender').inputValue()).toContain('Maria');
  await page.getByRole('button', { name: 'Try the rules' }).click();
  // By the rules and nothing else.
  await page.getByText('{ "email": "maria.silva.1@example.com" }').waitFor();
  await expectUsable(page);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved', { exact: true }).waitFor();

  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'New code' }).click();
  await page.getByLabel('Days that the old one works on').fill('3');
  await page.getByRole('menu').waitFor({ state: 'detached' });
  await expectUsable(page);
  await page.getByRole('button', { name: 'New code' }).click();
  await page.getByRole('tab', { name: 'Codes' }).click();
  await page.locator('tbody tr').nth(1).waitFor();
  await expectUsable(page);
  await page.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Disable' }).click();
  await page.getByText('Disabled').waitFor();

  const link = await linkOf('Primavera a desk');
  expect(link).toMatchObject({
    state: 'disabled',
    redirectUrl: 'https://lp.example.com/obrigado',
    mapping: { rules: { email: ['$.contact.mail', '$.email'] } },
  });
  expect(link.codes).toHaveLength(2);
  expect(faults).toEqual([]);
}, 120_000);
