import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { openWorkspace } from '@leadgate/intake';
import { openProducer, queueCounts } from '@leadgate/queue';
import {
  addOperator,
  applyGroup,
  createLink,
  createWorkspace,
  issueFirstCode,
  removeSecondFactor,
  saveHeld,
  saveRejected,
  showHeld,
  showLead,
} from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test, vi } from 'vitest';
import {
  consoleUnderTest,
  FROM_A_PAGE,
  PASSWORD,
  postForm,
  type ConsoleUnderTest,
} from './console-under-test.ts';

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

/** What every page has something to show of. */
async function furnish(): Promise<{ workspaceId: string; linkId: string }> {
  const { store, redis } = console_;
  const creation = await createWorkspace(store, {
    name: `Agência ${randomUUID().slice(0, 4)}`,
    country: 'BR',
    dummyPhones: [],
  });
  if (creation.kind !== 'created') throw new Error(creation.kind);
  const workspaceId = creation.workspace.id;
  await openWorkspace(redis, workspaceId);
  const { label, mode, requireIdentity, origins } = { ...SETTINGS, label: 'Black Friday' };
  const linking = await createLink(store, workspaceId, {
    ...{ label, mode, requireIdentity, origins, allowServers: true, redirectUrl: null },
    ...{ linkLimit: null, addressLimit: null, expiresAt: null },
  });
  if (linking.kind !== 'created') throw new Error(linking.kind);
  return { workspaceId, linkId: linking.link.id };
}

const SETTINGS = { mode: 'strict' as const, requireIdentity: false, origins: [] };

const PAGES = ['/', '/tail', '/duplicates', '/rejected', '/held', '/failed'];

test('every page shows on a telephone without scrolling sideways, and with its style', async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await signIn('Ana');
  for (const path of PAGES) {
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

test('what happens is on the page as it happens, and text of a sender is text', async () => {
  const { workspaceId, linkId } = await furnish();
  await signIn('Ana');
  await page.goto(`${base}/tail`);
  await page.selectOption('#linkId', linkId);
  await page.click('button:text("Follow")');
  await page.waitForSelector('text=Following.');
  let n = 500;
  await vi.waitFor(
    async () => {
      n += 1;
      const now = Date.now() * 1_000;
      const id = sampleSubmission(n).id;
      const submission = sampleSubmission(n, {
        ...{ workspaceId, linkId, order: now, stamp: now },
        lead: { name: `<img src=x onerror=alert(1)> ${n}`, email: `e${n}@example.com` },
      });
      await applyGroup(console_.store, [{ submission, replay: false }]);
      await saveRejected(console_.store, [
        {
          ...{ id: id.replace('01998f0e', '01998f0f'), workspaceId, linkId, stamp: now },
          ...{ code: 'invalid-lead', body: '{}', bodyType: 'json' as const },
          errors: [{ pointer: '/email', code: 'not-an-email', detail: 'Not an email.' }],
        },
      ]);
      expect(await page.textContent('#events')).toMatch(/Refused.*not-an-email/);
      expect(await page.textContent('#events')).toContain('<img src=x');
    },
    { timeout: 30_000, interval: 1_000 },
  );
  expect(faults).toEqual([]);
}, 60_000);

test('a held post is looked at and released; two leads are compared and merged', async () => {
  const { workspaceId, linkId } = await furnish();
  const held = sampleSubmission(700, {
    workspaceId,
    linkId,
    held: { reason: 'honeypot', keys: [] },
  });
  await saveHeld(console_.store, [held]);
  await signIn('Ana');
  await page.goto(`${base}/held`);
  await page.click('tbody a');
  await page.waitForSelector('h1:text("Held post")');
  expect(await page.textContent('body')).toContain('maria.silva.700@example.com');
  await page.click('text=Release');
  await page.waitForSelector('text=None.');
  expect(await showHeld(console_.store, held.id)).toMatchObject({ state: 'released' });

  const pair = [710, 711].map((n) => sampleSubmission(n, { workspaceId, linkId }));
  const items = pair.map((submission) => ({ submission, replay: false }));
  await applyGroup(console_.store, items);
  const [leadA = '', leadB = ''] = pair.map(({ leadId }) => leadId).toSorted();
  await console_.store.prisma.possibleDuplicate.create({ data: { workspaceId, leadA, leadB } });
  await page.goto(`${base}/duplicates`);
  await page.click('text=Compare');
  await page.waitForSelector('h1:text("Are they one person?")');
  await page.click('button:text("Keep this id") >> nth=1');
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
  expect(new URL(page.url()).pathname).toBe(`/leads/${leadB}`);
  expect(await showLead(console_.store, leadA, { historyLimit: 1 })).toMatchObject({
    ...{ leadId: leadB, submissions: 2 },
  });
  await page.goto(`${base}/duplicates`);
  await page.waitForSelector('text=None.');
  await page.goto(`${base}/audit`);
  const log = (await page.textContent('tbody'))?.replace(/\s+/g, ' ');
  expect(log).toMatch(/lead\.merge.*done.*held\.release.*done/);
  expect(faults).toEqual([]);
}, 60_000);

test('a viewer looks at every page and acts on none', async () => {
  await addOperator(console_.store, {
    name: 'Vito',
    password: PASSWORD,
    role: 'viewer',
    workspaceId: null,
  });
  await signIn('Vito');
  for (const path of PAGES) {
    await page.goto(base + path);
    const acting = page.locator('main form[method=post]:visible button, main button[value]');
    expect([path, await acting.count()]).toEqual([path, 0]);
    expect([path, await page.content()]).not.toEqual([path, expect.stringMatching(/maria\.silva/)]);
  }
  expect(faults).toEqual([]);
}, 60_000);

test('the dashboard shows a job with its data to an operator, and masked to a viewer', async () => {
  const logger = { debug: () => {}, warn: () => {}, error: () => {} };
  const producer = await openProducer(console_.redis, { logger });
  await producer.enqueue(sampleSubmission(5));
  await producer.close();
  // The newest job: an id of its own, not its submission's.
  const id = String(await console_.redis.lindex('leadgate:{leads-0}:wait', 0));
  await addOperator(console_.store, {
    name: 'Vera',
    password: PASSWORD,
    role: 'viewer',
    workspaceId: null,
  });

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

test('a security key is the second factor: added, asked for, its answer taken once and here only', async () => {
  // An IP address is no name that a key could be for.
  const here = base.replace('127.0.0.1', 'localhost');
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('WebAuthn.enable');
  await devtools.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      ...{ protocol: 'ctap2', transport: 'usb', automaticPresenceSimulation: true },
      ...{ hasResidentKey: false, hasUserVerification: false, isUserVerified: false },
    },
  });
  await addOperator(console_.store, {
    ...{ name: 'Kim', password: PASSWORD, role: 'viewer', workspaceId: null },
  });
  const typePassword = async () => {
    await page.goto(`${here}/sign-in`);
    await page.fill('#name', 'Kim');
    await page.fill('#password', PASSWORD);
    await page.click('button');
  };
  await typePassword();
  await page.goto(`${here}/account`);
  await page.getByRole('button', { name: 'Add a security key' }).click();
  await page.getByLabel('Name of the key').fill('Blue key');
  await page.getByRole('dialog').getByLabel('Your password now').fill(PASSWORD);
  await page.getByRole('dialog').getByRole('button', { name: 'Add a security key' }).click();
  await page.getByRole('button', { name: 'Remove the key Blue key' }).waitFor();
  await page.getByRole('button', { name: 'You: Kim' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL(`${here}/sign-in`);

  await typePassword();
  expect(await page.textContent('[role=alert]')).toContain('Now your security key');
  expect(await page.locator('#password').count()).toBe(0);
  await page.click('#sign-in-key button');
  await page.waitForURL(`${here}/`);
  expect(await page.textContent('.who')).toContain('Kim');

  const answerOfKey = async (): Promise<string> => {
    await page.context().clearCookies();
    await typePassword();
    const sent = page.waitForRequest(`${here}/sign-in/key`);
    await page.route('**/sign-in/key', (route) => route.abort());
    await page.click('#sign-in-key button');
    const request = await sent;
    await page.unroute('**/sign-in/key');
    return new URLSearchParams(request.postData() ?? '').get('answer') ?? '';
  };
  const { host } = new URL(here);
  const send = async (answer: string, at = host) => {
    const headers = { ...FROM_A_PAGE, host: at };
    return (await postForm(console_.ask, '/sign-in/key', { answer }, headers)).statusCode;
  };
  const answer = await answerOfKey();
  expect([await send(answer), await send(answer)]).toEqual([303, 401]);
  const elsewhere = await answerOfKey();
  expect(await send(elsewhere, 'evil.example')).toBe(401);
  const changed = (await answerOfKey()).replace(/"signature":"(.{8})/, '"signature":"AAAAAAAA');
  expect(await send(changed)).toBe(401);
  expect(await send('{"id":1}')).toBe(401);
  const old = await answerOfKey();
  await console_.store.prisma.$executeRaw`UPDATE key_challenge SET expires_at = now()`;
  expect(await send(old)).toBe(401);

  await removeSecondFactor(console_.store, 'Kim');
  await typePassword();
  await page.waitForURL(`${here}/`);
  // A request that this test aborted, and the answers 401 of sign-in pages.
  expect(faults.filter((fault) => !/ERR_FAILED|401/.test(fault))).toEqual([]);
}, 120_000);

test('after signing out the way back leads to the sign-in page', async () => {
  await signIn('Ana');
  await page.click('text=Sign out');
  await page.waitForURL(`${base}/sign-in`);
  await page.goto(`${base}/leads`);
  expect(new URL(page.url()).pathname).toBe('/sign-in');
});
