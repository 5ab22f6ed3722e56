import { openBrowser } from '@leadgate/testkit/browser';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { buildSnippet } from '../test/build-snippet.ts';
import { openReceiver, type TestReceiver } from '../test/receiver.ts';
import { openSite, type Site } from '../test/site.ts';

let browser: Browser;
let receiver: TestReceiver;
let site: Site;
let page: Page;

beforeAll(async () => {
  browser = await openBrowser();
  receiver = await openReceiver(await buildSnippet(), inject('receiver'));
  site = await openSite(
    `<!doctype html><html lang="pt"><body>
     <script src="${receiver.origin}/capture.js" data-link="${receiver.open}"></script>`,
  );
  page = await browser.newPage();
});
afterAll(async () => {
  await browser.close();
  await receiver.close();
  await site.close();
});

/** What is sent of a form with these inputs. */
async function leadOf(inputs: string): Promise<unknown> {
  await page.goto(site.origin);
  await page.evaluate((html) => {
    document.body.insertAdjacentHTML('beforeend', `<form data-leadgate>${html}</form>`);
    document.forms[0]?.requestSubmit();
  }, inputs);
  await page.waitForSelector('.leadgate-note');
  const { _idempotencyKey, _filledMs, ...lead } = JSON.parse(
    receiver.posts.at(-1)?.body ?? '',
  ) as Record<string, unknown>;
  expect([typeof _idempotencyKey, typeof _filledMs]).toEqual(['string', 'number']);
  return lead;
}

test.each<[string, string, object]>([
  [
    'lead fields, address, custom fields and whatever else has a name',
    `<input name="email" value="ana@example.com"><input name="address[city]" value="Recife">
     <input name="address.state" value="PE"><input name="customFields[plan]" value="pro">
     <input name="Renda/mês" value="5000"><textarea name="mensagem">Olá
tudo bem?</textarea>`,
    {
      email: 'ana@example.com',
      address: { city: 'Recife', state: 'PE' },
      customFields: { plan: 'pro', 'Renda/mês': '5000', mensagem: 'Olá\ntudo bem?' },
    },
  ],
  [
    'blank inputs are left out',
    `<input name="name"><input name="email" value="a@example.com">`,
    { email: 'a@example.com' },
  ],
  [
    'a single checkbox gives its value, or on, when checked',
    `<input type="checkbox" name="news" checked><input type="checkbox" name="terms" value="v2" checked>
     <input type="checkbox" name="calls">`,
    { customFields: { news: 'on', terms: 'v2' } },
  ],
  [
    'a group of checkboxes gives a list of those checked',
    `<input type="checkbox" name="topics" value="a" checked><input type="checkbox" name="topics" value="b">
     <input type="checkbox" name="topics" value="c" checked>`,
    { customFields: { topics: ['a', 'c'] } },
  ],
  [
    'a name with [] gives a list even of one',
    `<input type="checkbox" name="topics[]" value="a" checked>`,
    { customFields: { topics: ['a'] } },
  ],
  [
    'a group with nothing checked says nothing',
    `<input type="checkbox" name="topics" value="a"><input type="checkbox" name="topics" value="b">`,
    { customFields: {} },
  ],
  [
    'radios give the chosen one',
    `<input type="radio" name="plan" value="free"><input type="radio" name="plan" value="pro" checked>`,
    { customFields: { plan: 'pro' } },
  ],
  [
    'selects give the chosen one, or a list where many may be chosen',
    `<select name="state"><option value="">UF</option><option selected>PE</option></select>
     <select name="days" multiple><option selected>seg</option><option>ter</option><option selected>qua</option></select>`,
    { state: 'PE', customFields: { days: ['seg', 'qua'] } },
  ],
  [
    'of two inputs of one name, as for phone and desk, the filled one counts',
    `<input name="name" value="Ana"><input name="name" value="">`,
    { name: 'Ana' },
  ],
  [
    'never a password, a file, a card, a token, a button or what is disabled',
    `<input name="email" value="a@example.com"><input type="password" name="pin" value="secret">
     <input name="senha" value="secret"><input type="file" name="cv"><input name="_token" value="secret">
     <input name="card" autocomplete="cc-number" value="secret"><input name="off" value="x" disabled>
     <fieldset disabled name="group"><input name="inside" value="x"></fieldset>
     <output name="total">9</output>
     <button name="go" value="x"></button><input type="submit" name="send" value="x">`,
    { email: 'a@example.com' },
  ],
  [
    'a consent, and the answer of a CAPTCHA, which its service checks',
    `<input type="checkbox" name="consent[given]" checked>
     <input type="hidden" name="consent[textVersion]" value="2026-03">
     <textarea name="g-recaptcha-response">answer</textarea>`,
    {
      consent: { given: 'on', textVersion: '2026-03' },
      customFields: { 'g-recaptcha-response': 'answer' },
    },
  ],
  [
    'names that hide what a form or an object has',
    `<input name="elements2" value="1"><input name="submit" value="2"><input name="reset" value="3">
     <input name="constructor" value="4"><input name="customFields[__proto__]" value="5">`,
    {
      customFields: {
        elements2: '1',
        submit: '2',
        reset: '3',
        constructor: '4',
        ['__proto__']: '5',
      },
    },
  ],
])('%s', async (_, inputs, lead) => {
  expect(await leadOf(inputs)).toEqual(lead);
});

test('an input outside of its form belongs to it by its form attribute', async () => {
  await page.goto(site.origin);
  await page.evaluate(() => {
    document.body.insertAdjacentHTML(
      'beforeend',
      '<form data-leadgate id="f"></form><input form="f" name="city" value="Olinda">',
    );
    document.forms[0]?.requestSubmit();
  });
  await page.waitForSelector('.leadgate-note');
  expect(receiver.posts.at(-1)?.body).toContain('"city":"Olinda"');
});
