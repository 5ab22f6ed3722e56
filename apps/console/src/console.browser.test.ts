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
  saveRejected,
} from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { openBrowser } from '@leadgate/testkit/browser';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import {
  consoleUnderTest,
  FROM_A_PAGE,
  PASSWORD,
  postForm,
  type ConsoleUnderTest,
} from '../test/console.ts';

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
  browser = await openBrowser();
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
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.getByRole('button', { name: 'You: Ana' }).waitFor();
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
async function makeWorkspace(): Promise<{ workspaceId: string; linkId: string }> {
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

test('the queue is paused and resumed with buttons', async () => {
  await signIn('Ana');
  await page.goto(`${base}/queue`);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByText('The queue is paused').waitFor();
  expect((await queueCounts(console_.redis)).paused).toBe(true);
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  expect((await queueCounts(console_.redis)).paused).toBe(false);
});

test('what happens is on the page as it happens, and text of a sender is text', async () => {
  const { workspaceId, linkId } = await makeWorkspace();
  await signIn('Ana');
  await page.goto(`${base}/?workspace=${workspaceId}`);
  await page.locator('.pulse[data-on]').waitFor();
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
      const told = await page.textContent('.happenings');
      expect(told).toContain('email not-an-email');
      expect(told).toContain('<img src=x');
    },
    { timeout: 30_000, interval: 1_000 },
  );
  expect(faults).toEqual([]);
}, 60_000);

test('the dashboard shows a job with its data to an operator, and masked to a viewer', async () => {
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
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
  await vi.waitFor(async () => expect(await page.textContent('body')).toContain('203.0.113.7'), {
    timeout: 15_000,
  });
  expect(faults).toEqual([]);

  await page.context().clearCookies();
  await signIn('Vera');
  await page.goto(`${base}/queues/queue/${encodeURIComponent('view-{leads-0}')}/${id}`);
  await vi.waitFor(async () => expect(await page.textContent('body')).toContain('•••'), {
    timeout: 15_000,
  });
  expect(await page.content()).not.toMatch(/maria\.silva|203\.0\.113\.7/);
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
    await Promise.all([page.waitForResponse(`${here}/sign-in`), page.click('button')]);
  };
  await typePassword();
  await page.waitForURL(`${here}/`);
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
    let answer = '';
    // Let go of only once it is aborted: else the console would hear the answer from the browser first.
    await page.route('**/sign-in/key', async (route) => {
      await route.abort();
      answer = new URLSearchParams(route.request().postData() ?? '').get('answer') ?? '';
    });
    await page.click('#sign-in-key button');
    await expect.poll(() => answer, { timeout: 20_000 }).not.toBe('');
    await page.unroute('**/sign-in/key');
    return answer;
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
  await page.getByRole('button', { name: 'You: Ana' }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
  await page.waitForURL(`${base}/sign-in`);
  await page.goto(`${base}/leads`);
  expect(new URL(page.url()).pathname).toBe('/sign-in');
});
