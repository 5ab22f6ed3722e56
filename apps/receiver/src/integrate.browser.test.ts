import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { testRedis } from '@leadgate/testkit';
import { openBrowser } from '@leadgate/testkit/browser';
import { runExample } from '../test/doc-examples.ts';
import { EXAMPLE_LEAD, exampleIn } from '../test/doc-examples.ts';
import {
  closeAll,
  closes,
  connectTo,
  type Receiver,
  refill,
  startOn,
  takeJobs,
} from '../test/receiver.ts';

// What needs more than Node: `npm run test:browser` finds or installs it.
let redisUrl: string;
let browser: Browser;
let receiver: Receiver;

beforeAll(async () => {
  ({ url: redisUrl } = await testRedis());
  browser = await openBrowser();
});
afterAll(() => browser.close());

beforeEach(async () => {
  await refill(connectTo(redisUrl));
  receiver = await startOn(redisUrl);
});
afterEach(closeAll);

async function landing(body: string): Promise<string> {
  const server: Server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8');
    response.end(`<!doctype html><html lang="pt"><body>${body}</body></html>`);
  });
  server.listen(0, '127.0.0.1');
  closes.push(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

async function sendFrom(url: string): Promise<void> {
  const context = await browser.newContext({ locale: 'pt-BR' });
  closes.push(() => context.close());
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction('"leadgate" in window');
  await page.fill('[name=name]', 'Ana Souza');
  await page.fill('[name=telephone]', '(11) 98765-4321');
  await page.fill('[name=email]', 'ana@example.com');
  await page.fill('[name*=plano]', 'ouro');
  const box = page.locator('[type=checkbox]');
  if ((await box.count()) > 0) await box.check();
  await page.click('button');
  await page.waitForSelector('.leadgate-note[role=status]');
}

describe('the example in', () => {
  test('HTML is a form that sends a lead with its consent', async () => {
    await sendFrom(await landing(exampleIn(receiver.url, 'html')));
    const [submission] = await takeJobs(redisUrl, 1);
    expect(submission).toMatchObject({
      lead: EXAMPLE_LEAD,
      consent: { given: true, textVersion: '2026-11' },
      notes: [],
    });
  });

  test('Tag Manager makes a lead of a form that nobody edited', async () => {
    const form =
      '<form><input name="name"><input name="telephone"><input name="email"><input name="plano"><button>Enviar</button></form>';
    await sendFrom(await landing(form + exampleIn(receiver.url, 'html-tag')));
    const [submission] = await takeJobs(redisUrl, 1);
    expect(submission).toMatchObject({ lead: EXAMPLE_LEAD, notes: [] });
  });

  test('a script sends a form with a file as it is, past a preflight for what monitoring adds', async () => {
    const form =
      '<form><input name="name" value="Ana Souza"><input name="telephone" value="(11) 98765-4321"><input name="email" value="ana@example.com"><input name="customFields[plano]" value="ouro"><input name="foto" type="file"><input name="cv" type="file"></form>';
    const page = await (await browser.newContext()).newPage();
    closes.push(() => page.context().close());
    await page.goto(await landing(form));
    const buffer = Buffer.alloc(200_000);
    await page.setInputFiles('[name=cv]', { name: 'cv.pdf', mimeType: 'application/pdf', buffer });
    const traced = exampleIn(receiver.url, 'js-form').replace(
      "method: 'POST',",
      "method: 'POST', headers: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', baggage: 'a=b', 'sentry-trace': 'x' },",
    );
    await page.evaluate(`(async () => { ${traced} })()`);
    const [submission] = await takeJobs(redisUrl, 1);
    expect(submission).toMatchObject({
      lead: EXAMPLE_LEAD,
      bodyType: 'form',
      notes: [{ field: '/cv', code: 'file-dropped' }],
    });
  });

  const PROGRAMS = [
    ['sh', 'bash', ['-s']],
    ['php', 'php', []],
    ['python', 'python3', ['-']],
  ] as const;

  test.each(PROGRAMS)('%s sends a lead', async (language, program, args) => {
    const ran = await runExample(program, args, exampleIn(receiver.url, language));
    expect(ran).toMatchObject({ status: 0, err: '' });
    const [submission] = await takeJobs(redisUrl, 1);
    expect(submission).toMatchObject({ lead: EXAMPLE_LEAD, notes: [] });
    expect(ran.out).toContain(submission?.leadId);
  });

  test.each(PROGRAMS)('%s says which field is wrong', async (language, program, args) => {
    const example = exampleIn(receiver.url, language).replace('(11) 98765-4321', '12');
    const ran = await runExample(program, args, example);
    expect(ran.status).not.toBe(0);
    expect(ran.out + ran.err).toContain('/telephone');
  });
});
