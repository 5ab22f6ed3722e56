import { chromium } from 'playwright-core';
import { findChromium } from './programs.js';

// The pictures of the README and docs/console.md, taken from the demo of a console that runs:
//   npm start            and sign in once, as who takes them
//   CONSOLE_NAME=… CONSOLE_PASSWORD=… npm run pictures

const {
  CONSOLE_URL = 'http://localhost:3001',
  CONSOLE_NAME: name,
  CONSOLE_PASSWORD: password,
} = process.env;
if (!name || !password)
  throw new Error('say who signs in: CONSOLE_NAME and CONSOLE_PASSWORD, of an administrator');

/** What a form builder posts. */
const ANSWERS = ['Mariana Lopes', 'Renato Ramos', 'Helena Castro'].map((name, n) => ({
  nome_completo: name,
  seu_email: `${name.toLowerCase().replace(' ', '.')}@example.com`,
  ...{ whatsapp: `(31) 90441-205${n}`, cidade: 'Belo Horizonte', uf: 'MG' },
}));

const DESK = { width: 1_280, height: 800 };
const TELEPHONE = { width: 360, height: 740 };
const folder = new URL('../docs/images/', import.meta.url).pathname;

const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
try {
  const context = await browser.newContext({
    ...{ baseURL: CONSOLE_URL, viewport: DESK, locale: 'en-GB', timezoneId: 'America/Sao_Paulo' },
    reducedMotion: 'reduce',
  });
  const { request } = context;

  /**
   * A link that a form with names of its own posts to, made at the first time.
   * @param {string} workspaceId
   */
  const linkOf = async (workspaceId) => {
    const label = 'Form builder: simulação';
    const links = /** @type {{ id: string, label: string }[]} */ (
      await (await request.get(`/api/links?workspaceId=${workspaceId}`)).json()
    );
    const there = links.find((one) => one.label === label);
    if (there !== undefined) return there.id;
    const headers = { origin: new URL(CONSOLE_URL).origin };
    const made = await request.post(`/api/workspaces/${workspaceId}/links`, {
      headers,
      data: { label },
    });
    const { id, captureUrl: url } = /** @type {{ id: string, captureUrl: string }} */ (
      await made.json()
    );
    for (const answers of ANSWERS) {
      const data = { form_id: 'simulacao-plano', answers };
      const answer = await request.post(url, { data });
      if (answer.status() !== 202) throw new Error(`${url} answered ${answer.status()}`);
    }
    return id;
  };

  const page = await context.newPage();
  await page.goto('/sign-in');
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.chart').waitFor();

  const workspaces = /** @type {{ id: string, demo: string | null }[]} */ (
    await (await request.get('/api/workspaces')).json()
  );
  const demo = workspaces.find((one) => one.demo !== null);
  if (demo === undefined) throw new Error('this console has no demo workspace');
  const formBuilder = await linkOf(demo.id);

  /** @type {(path: string, ready: string) => Promise<void>} */
  const open = async (path, ready) => {
    const at = new URL(path, CONSOLE_URL);
    at.searchParams.set('workspace', demo.id);
    await page.goto(at.pathname + at.search);
    await page.locator(ready).first().waitFor();
  };
  /** @type {(file: string, ready: string) => Promise<void>} */
  const take = async (file, ready) => {
    await page.locator(ready).first().waitFor();
    // The stream of the overview never ends.
    if (file !== 'overview') await page.waitForLoadState('networkidle');
    await page.screenshot({ path: `${folder}${file}.png` });
  };
  await open('/', '.shares');
  await take('overview', '.books[data-tone]');
  await open('/inbox', 'a.row');
  await page.locator('a.row').first().click();
  await take('inbox', '.mend-fields');
  await open('/links', 'a.row');
  await page.locator('a.row', { hasText: 'Demo landing page' }).click();
  await take('link', '.chart');
  await open(`/links/${formBuilder}?tab=mapping`, 'textarea');
  await page.getByRole('button', { name: 'Propose rules' }).click();
  await page.getByText('not saved yet').waitFor();
  await page.getByRole('button', { name: 'Try the rules' }).click();
  await take('mapping', 'section .code');
  // One who came by several posts has a timeline.
  await open('/leads?came=again', 'a.row');
  await page.locator('a.row').first().click();
  await take('lead', '.lead-history code');
  await page.setViewportSize(TELEPHONE);
  await take('lead-telephone', '.lead-history code');
} finally {
  await browser.close();
}
