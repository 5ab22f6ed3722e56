import type { Role } from '@leadgate/contract';
import { openWorkspace } from '@leadgate/intake';
import { createLink, createWorkspace } from '@leadgate/store';
import { testDatabase, testRedis } from '@leadgate/testkit';
import { openBrowser } from '@leadgate/testkit/browser';
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import axe from 'axe-core';
import type { Browser, Page, Request } from 'playwright-core';
import { expect } from 'vitest';
import { type ConsoleUnderTest, consoleUnderTest } from './console.ts';

/** A console that listens, and a browser that looks at its pages. */
export interface PagesUnderTest {
  console: ConsoleUnderTest;
  base: string;
  browser: Browser;
  /** A page of a new operator, and what its scripts, its policy and its requests found fault with. */
  openAs(role: Role, size?: { width: number; height: number }): Promise<OpenPage>;
  /** A workspace with an open link. */
  makeWorkspace(label?: string): Promise<{ workspaceId: string; linkId: string }>;
  close(): Promise<void>;
}

export interface OpenPage {
  page: Page;
  faults: string[];
}

/** The smallest telephone that the pages are for. */
export const TELEPHONE = { width: 360, height: 740 };

/** Opens both. Whoever opens them closes them. */
export async function pagesUnderTest(workspaceName = 'Agência'): Promise<PagesUnderTest> {
  const [database, redis] = await Promise.all([testDatabase(), testRedis()]);
  const console = await consoleUnderTest({ databaseUrl: database.url, redisUrl: redis.url });
  await console.app.listen({ host: '127.0.0.1', port: 0 });
  const base = `http://127.0.0.1:${(console.app.server.address() as AddressInfo).port}`;
  const browser = await openBrowser();
  return {
    console,
    base,
    browser,
    async openAs(role, size = { width: 1_280, height: 800 }) {
      const context = await browser.newContext({
        ...{ viewport: size, baseURL: base, timezoneId: 'America/Sao_Paulo', locale: 'en-GB' },
        reducedMotion: 'reduce',
      });
      const value = await console.sessionOf(`${role} ${randomUUID().slice(0, 6)}`, role);
      await context.addCookies([{ name: 'leadgate', value, url: base }]);
      const page = await context.newPage();
      page.setDefaultTimeout(15_000);
      asked.set(page, askedBy(page));
      return { page, faults: faultsOf(page) };
    },
    async makeWorkspace(label = 'Black Friday') {
      const creation = await createWorkspace(console.store, {
        name: workspaceName,
        country: 'BR',
        dummyPhones: [],
      });
      if (creation.kind !== 'created') throw new Error(creation.kind);
      const workspaceId = creation.workspace.id;
      await openWorkspace(console.redis, workspaceId);
      const linking = await createLink(console.store, workspaceId, {
        ...{ label, mode: 'strict', requireIdentity: false, origins: [] },
        ...{ allowServers: true, redirectUrl: null, linkLimit: null, addressLimit: null },
        expiresAt: null,
      });
      if (linking.kind !== 'created') throw new Error(linking.kind);
      return { workspaceId, linkId: linking.link.id };
    },
    async close() {
      await browser.close();
      await console.close();
      await database.drop();
    },
  };
}

/** What each page has asked the API for and has not been answered. */
const asked = new WeakMap<Page, ReadonlySet<Request>>();

function askedBy(page: Page): ReadonlySet<Request> {
  const requests = new Set<Request>();
  page.on('request', (request) => {
    // A stream of events never ends.
    if (request.url().includes('/api/') && request.resourceType() !== 'eventsource')
      requests.add(request);
  });
  const end = (request: Request) => requests.delete(request);
  page.on('requestfinished', end).on('requestfailed', end);
  return requests;
}

/** What a page says is wrong, as it goes on. */
function faultsOf(page: Page): string[] {
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(message.text());
  });
  return faults;
}

/** Everything that axe-core finds on a page as it is now: WCAG 2.2 AA and its best practices, but some rules of it. */
async function barriersOf(page: Page, but: readonly string[]): Promise<string[]> {
  // What fades in has its colours when it is there.
  await page.evaluate(`Promise.allSettled(document.getAnimations()
    .filter((one) => one.effect.getComputedTiming().endTime < Infinity)
    .map((one) => one.finished))`);
  if (await page.evaluate<boolean>("!('axe' in globalThis)")) await page.evaluate(axe.source);
  const rules = Object.fromEntries(but.map((rule) => [rule, { enabled: false }]));
  // What passes is neither gathered nor sent: it takes longer than to look.
  const violations = await page.evaluate<axe.Result[]>(
    `axe.run(${JSON.stringify({ rules, resultTypes: ['violations'] })}).then((found) => found.violations)`,
  );
  // Of one kind three tell enough.
  // In one line: of a test that passes when it is run again, the log has the first one.
  return violations.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 3)
      .map(({ html, failureSummary = '' }) =>
        `${id}: ${html.slice(0, 300)} ${failureSummary}`.replaceAll(/\s+/g, ' '),
      ),
  );
}

/** What a page shows as long as something is on its way. */
const WAITS = '[aria-busy=true], .mantine-Loader-root, .mantine-Skeleton-root';

/** A page, once it has all that it asked for, fits its window, and no barrier stands on it. `but`: rules of axe-core that are not asked. */
export async function expectUsable(page: Page, but: readonly string[] = []): Promise<void> {
  // It asks a moment after it is drawn, and draws a moment after it is told: by then another page is looked at.
  const waitsFor = async () => [asked.get(page)?.size, await page.locator(WAITS).count()];
  await expect.poll(waitsFor, { timeout: 15_000 }).toEqual([0, 0]);
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
  const tooWide = await page.evaluate(
    'document.documentElement.scrollWidth - document.documentElement.clientWidth',
  );
  const path = await page.evaluate<string>(
    `[location.pathname + location.search, innerWidth, ...Object.values(document.documentElement.dataset)].join(' ')`,
  );
  expect([path, tooWide]).toEqual([path, 0]);
  const barriers = await barriersOf(page, but);
  // In the message, of which a report shows no more than its beginning.
  expect(barriers, [...barriers, path].join(' ')).toEqual([]);
}
