import type { AddressInfo } from 'node:net';
import { openProducer, queueCounts } from '@leadgate/queue';
import { addOperator, issueFirstCode } from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest';
import { consoleUnderTest, PASSWORD, type ConsoleUnderTest } from './console-under-test.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let console_: ConsoleUnderTest;
let browser: Browser;
let page: Page;
let base: string;
let faults: string[];

beforeAll(async () => {
  database = await testDatabase();
  const redis = await testRedis();
  console_ = await consoleUnderTest({ databaseUrl: database.url, redisUrl: redis.url });
  await console_.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = console_.app.server.address() as AddressInfo;
  base = `http://127.0.0.1:${port}`;
  browser = await chromium.launch({
    executablePath: inject('chromium'),
    args: ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'],
  });
});

afterAll(async () => {
  await browser.close();
  await console_.close();
  await database.drop();
});

beforeEach(async () => {
  page = await browser.newPage();
  faults = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
});

afterEach(() => page.context().close());

async function signIn(name: string): Promise<void> {
  await page.goto(`${base}/`);
  await page.fill('#name', name);
  await page.fill('#password', PASSWORD);
  await page.click('button');
  await page.waitForURL(`${base}/`);
}

test('who starts it types the one-time code, and is at the overview', async () => {
  const issued = await issueFirstCode(console_.store);
  if (issued.kind !== 'issued') throw new Error(issued.kind);
  await page.goto(`${base}/`);
  expect(new URL(page.url()).pathname).toBe('/sign-in');
  await page.fill('#code', issued.code.toLowerCase());
  await page.fill('#name', 'Ana');
  await page.fill('#password', PASSWORD);
  await page.click('button');
  await page.waitForURL(`${base}/`);
  expect(await page.textContent('h1')).toBe('Overview');
  expect(await page.textContent('.who')).toBe('Ana');
  expect(faults).toEqual([]);
});

test('a wrong password says no more than that it is not right', async () => {
  await page.goto(`${base}/sign-in`);
  await page.fill('#name', 'Ana');
  await page.fill('#password', 'not the password');
  await page.click('button');
  expect(await page.textContent('[role=alert]')).toContain('not right');
  expect(new URL(page.url()).pathname).toBe('/sign-in');
});

test('every page shows on a telephone without scrolling sideways, and with its style', async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await signIn('Ana');
  for (const path of ['/', '/leads', '/rejected', '/failed', '/links', '/audit']) {
    await page.goto(base + path);
    const width = await page.evaluate('document.documentElement.scrollWidth');
    expect([path, width]).toEqual([path, 360]);
    const margin = await page.evaluate('getComputedStyle(document.body).margin');
    expect(margin).toBe('0px');
  }
  expect(faults).toEqual([]);
});

test('the queue is paused and resumed with buttons', async () => {
  await signIn('Ana');
  await page.click('text=Pause the queue');
  await page.waitForSelector('text=The queue is paused');
  expect((await queueCounts(console_.redis)).paused).toBe(true);
  await page.click('text=Resume');
  await page.waitForSelector('text=Pause the queue');
  expect((await queueCounts(console_.redis)).paused).toBe(false);
});

test('the dashboard shows a job with its data to an operator, and masked to a viewer', async () => {
  const logger = { debug: () => {}, warn: () => {}, error: () => {} };
  const producer = await openProducer(console_.redis, { logger });
  const { id } = sampleSubmission(5);
  await producer.enqueue(sampleSubmission(5));
  await producer.close();
  await addOperator(console_.store, { name: 'Vera', password: PASSWORD, role: 'viewer' });

  await signIn('Ana');
  await page.goto(`${base}/queues/queue/${encodeURIComponent('{leads-0}')}/${id}`);
  await vi.waitFor(
    async () => expect(await page.textContent('body')).toContain('maria.silva.5@example.com'),
    { timeout: 15_000 },
  );
  // The fonts of a foreign site are all that it is refused.
  expect(faults.filter((fault) => !fault.includes('fonts.googleapis.com'))).toEqual([]);

  await page.context().clearCookies();
  await signIn('Vera');
  await page.goto(`${base}/queues/queue/${encodeURIComponent('view-{leads-0}')}/${id}`);
  await vi.waitFor(async () => expect(await page.textContent('body')).toContain('•••'), {
    timeout: 15_000,
  });
  expect(await page.content()).not.toContain('maria.silva');
});

test('after signing out the way back leads to the sign-in page', async () => {
  await signIn('Ana');
  await page.click('text=Sign out');
  await page.waitForURL(`${base}/sign-in`);
  await page.goto(`${base}/leads`);
  expect(new URL(page.url()).pathname).toBe('/sign-in');
});
