import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { testRedis } from '@leadgate/testkit';
import { openBrowser } from '@leadgate/testkit/browser';
import {
  closeAll,
  CODE,
  connectTo,
  type Receiver,
  refill,
  startOn,
  takeJobs,
} from '../test/receiver.ts';

let redisUrl: string;
let browser: Browser;
let receiver: Receiver;
let page: Page;
let faults: string[];

beforeAll(async () => {
  ({ url: redisUrl } = await testRedis());
  browser = await openBrowser();
});
afterAll(() => browser.close());

beforeEach(async () => {
  await refill(connectTo(redisUrl));
  receiver = await startOn(redisUrl, { DEMO_LINK: CODE, CONSOLE_URL: 'http://127.0.0.1:3001' });
});
afterEach(async () => {
  // A violated policy, a failed request or an exception is a fault of the page.
  expect(faults).toEqual([]);
  await page.context().close();
  await closeAll();
});

async function open(options: Parameters<Browser['newContext']>[0] = {}): Promise<void> {
  const context = await browser.newContext({ locale: 'pt-BR', ...options });
  page = await context.newPage();
  faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !ANSWERED.test(message.text())) faults.push(message.text());
  });
}

/** A refused lead, and one that a slow machine took at the next try: both are answers, not faults. */
const ANSWERED = /status of (422|503)/;

const fill = async (fields: Record<string, string>) => {
  for (const [name, value] of Object.entries(fields)) await page.fill(`[name="${name}"]`, value);
};

const ANA = { name: 'Ana Souza', telephone: '(11) 98765-4321', email: 'Ana@Example.com' };

describe('the demo', () => {
  test('posts a lead with its campaign and its consent, and shows what was sent', async () => {
    await open({ viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true });
    await page.goto(`${receiver.url}/demo?utm_source=instagram&utm_campaign=primavera`);
    await page.waitForFunction('"leadgate" in window');
    await fill(ANA);
    await page.selectOption('select', 'ouro');
    await page.check('[name="consent[given]"]');
    await page.click('button');
    await page.waitForSelector('#done:not([hidden])');

    const [submission] = await takeJobs(redisUrl, 1);
    expect(submission).toMatchObject({
      lead: {
        name: 'Ana Souza',
        email: 'ana@example.com',
        telephone: '11987654321',
        utmSource: 'instagram',
        utmCampaign: 'primavera',
        customFields: { plano: 'ouro' },
      },
      consent: { given: true, textVersion: 'demo-2026-11' },
      notes: [],
    });
    expect(await page.textContent('#lead-id')).toBe(submission?.leadId);
    expect(JSON.parse((await page.textContent('#sent')) ?? '')).toMatchObject({
      ...ANA,
      _filledMs: expect.any(Number) as number,
    });
    expect(await page.getAttribute('#console', 'href')).toBe(
      `http://127.0.0.1:3001/leads/${submission?.leadId}`,
    );
  });

  test('marks what the service refuses at its field', async () => {
    await open();
    await page.goto(`${receiver.url}/demo`);
    await page.waitForFunction('"leadgate" in window');
    await fill({ ...ANA, telephone: '12' });
    await page.click('button');
    await page.waitForSelector('[name=telephone][aria-invalid=true]');
    expect(await page.isVisible('form')).toBe(true);
  });

  test.each([320, 390, 1280])('fits a window %d pixels wide', async (width) => {
    await open({ viewport: { width, height: 800 } });
    await page.goto(`${receiver.url}/demo`);
    const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
    expect(await page.evaluate(overflow)).toBe(0);
  });
});

describe('without JavaScript', () => {
  const withoutScript = (locale: string) => open({ javaScriptEnabled: false, locale });

  test.each([
    ['pt-BR', 'Obrigado!'],
    ['en-GB', 'Thank you!'],
    ['es-AR', '¡Gracias!'],
  ])('a form is a lead, and its visitor is thanked (%s)', async (locale, thanks) => {
    await withoutScript(locale);
    await page.goto(`${receiver.url}/demo`);
    await fill(ANA);
    await page.check('[name="consent[given]"]');
    await page.click('button');
    await vi.waitFor(async () => expect(await page.textContent('h1')).toBe(thanks), 5_000);
    const [submission] = await takeJobs(redisUrl, 1);
    expect(submission).toMatchObject({
      bodyType: 'form',
      lead: { email: 'ana@example.com' },
      consent: { given: true },
      notes: [],
    });
  });

  test('what is wrong is said by field, and what was filled in is there again', async () => {
    await withoutScript('en-US');
    await page.goto(`${receiver.url}/demo`);
    await fill({ ...ANA, telephone: '12' });
    await page.click('button');
    await vi.waitFor(
      async () => expect(await page.textContent('li')).toMatch(/^Telephone: /),
      5_000,
    );
    await page.goBack();
    expect(await page.inputValue('[name=name]')).toBe('Ana Souza');
  });

  test('a link with an address to go on to sends the visitor there', async () => {
    await refill(connectTo(redisUrl), { redirectUrl: `${receiver.url}/demo?obrigado` });
    await receiver.close();
    receiver = await startOn(redisUrl, { DEMO_LINK: CODE });
    await refill(connectTo(redisUrl), { redirectUrl: `${receiver.url}/demo?obrigado` });
    await withoutScript('pt-BR');
    await page.goto(`${receiver.url}/demo`);
    await fill(ANA);
    await page.click('button');
    await page.waitForURL(/\?obrigado$/);
    await takeJobs(redisUrl, 1);
  });
});
