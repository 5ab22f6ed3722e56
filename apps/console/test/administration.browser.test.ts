import { applyGroup, endpointBacklog, listEndpoints, recordTries } from '@leadgate/store';
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
let linkId: string;

beforeAll(async () => {
  pages = await pagesUnderTest(inject('chromium'));
  ({ workspaceId, linkId } = await pages.furnish());
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
    for (const outcome of ['answered', 'delivered'] as const)
      await recordTries(
        store,
        endpoint.id,
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
