import { openBrowser } from '@leadgate/testkit/browser';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  inject,
  test,
  vi,
} from 'vitest';
import { buildSnippet } from '../test/build-snippet.ts';
import { openReceiver, type TestReceiver } from '../test/receiver.ts';
import { openSite, type Site } from '../test/site.ts';

let browser: Browser;
let snippet: string;
let receiver: TestReceiver;
let visitor: BrowserContext;
const open: Site[] = [];

beforeAll(async () => {
  [browser, snippet] = await Promise.all([openBrowser(), buildSnippet()]);
});
afterAll(() => browser.close());

beforeEach(async () => {
  receiver = await openReceiver(snippet, inject('receiver'));
  visitor = await browser.newContext();
});
afterEach(async () => {
  await visitor.close();
  await receiver.close();
  for (const site of open.splice(0)) await site.close();
});

const FORM = `
  <form data-leadgate>
    <label>Nome <input name="name"></label>
    <label for="email">E-mail</label>
    <input id="email" name="email" aria-describedby="hint"><span id="hint">Não enviamos spam</span>
    <label>Telefone <input name="telephone"></label>
    <label>Nascimento <input name="birthday"></label>
    <button>Enviar</button>
  </form>`;

interface Landing {
  form?: string;
  lang?: string;
  /** Attributes of the script. */
  script?: string;
  headers?: Record<string, string>;
}

async function openLanding({
  form = FORM,
  lang = 'pt-BR',
  script = '',
  headers,
}: Landing = {}): Promise<Site> {
  const site = await openSite(
    `<!doctype html><html lang="${lang}"><title>Landing</title><body>${form}
     <script src="${receiver.origin}/capture.js" data-link="${receiver.open}" ${script} async></script>`,
    headers,
  );
  open.push(site);
  return site;
}

/** A page of the site, with the snippet loaded and its events written down. */
async function visit(site: Site, query = ''): Promise<Page> {
  const page = await visitor.newPage();
  await page.addInitScript(() => {
    const heard: Heard[] = [];
    Object.assign(window, { heard });
    for (const kind of ['accepted', 'rejected', 'kept'])
      document.addEventListener(`leadgate:${kind}`, (event) => {
        const { leadId, problem } = (event as CustomEvent<Omit<Heard, 'kind' | 'target'>>).detail;
        heard.push({
          kind,
          target: event.target instanceof Element ? event.target.tagName : 'document',
          ...(leadId && { leadId }),
          ...(problem && { problem: { code: problem.code, status: problem.status } }),
        });
      });
  });
  await page.goto(site.origin + '/' + query);
  await page.waitForFunction(() => 'leadgate' in window);
  return page;
}

interface Heard {
  kind: string;
  target: string;
  leadId?: string;
  problem?: { code: string; status: number };
}

const heardOn = (page: Page) =>
  page.evaluate(() => (window as unknown as { heard: Heard[] }).heard);

async function hear(page: Page, kind: string): Promise<Heard> {
  return vi.waitFor(
    async () => {
      const event = (await heardOn(page)).find((one) => one.kind === kind);
      if (!event) throw new Error(`no ${kind} yet`);
      return event;
    },
    { timeout: 30_000, interval: 50 },
  );
}

async function fill(page: Page, fields: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(fields)) await page.fill(`[name="${name}"]`, value);
}

const submit = (page: Page) => page.click('button');

const sent = () => receiver.posts.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
const keys = () => [...new Set(sent().map((body) => body['_idempotencyKey']))];

const A_UUID: unknown = expect.stringMatching(/^[0-9a-f-]{36}$/);
const A_WHILE: unknown = expect.any(Number);
const A_KEY: unknown = expect.stringMatching(/^[!-~]{8,255}$/);

const ANA = { name: 'Ana', email: 'ana@example.com', telephone: '11987650001' };

describe('a lead on its way', () => {
  test('reaches the receiver from another origin, without a preflight, and its id is told', async () => {
    const page = await visit(await openLanding());
    await fill(page, ANA);
    await submit(page);
    const event = await hear(page, 'accepted');
    expect(event).toMatchObject({
      target: 'FORM',
      leadId: A_UUID,
    });
    expect(sent()).toEqual([{ ...ANA, _idempotencyKey: A_KEY, _filledMs: A_WHILE }]);
    expect(receiver.posts[0]?.path).toBe(`/ingest/${receiver.open}`);
    expect(receiver.preflights).toBe(0);
    const status = page.getByRole('status');
    expect(await status.textContent()).toBe('Recebemos seus dados. Obrigado!');
    expect(await page.evaluate(() => document.activeElement?.getAttribute('role'))).toBe('status');
  });

  test('is not stopped by a network that refuses preflights, as a fetch of JSON is', async () => {
    receiver.refusePreflights();
    const page = await visit(await openLanding());
    const url = `${receiver.origin}/ingest/${receiver.open}`;
    expect(await postJson(page, url)).toBe('TypeError');
    expect(receiver.preflights).toBe(1);
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
  });

  test('may be posted as JSON with a key in a header, after a preflight', async () => {
    const page = await visit(await openLanding());
    expect(await postJson(page, `${receiver.origin}/ingest/${receiver.open}`)).toBe(202);
    expect(receiver.preflights).toBe(1);
  });

  test('is one submission through double clicks, and the button says so', async () => {
    const page = await visit(await openLanding());
    const release = receiver.hold();
    await fill(page, ANA);
    await page.evaluate(() => {
      const form = document.querySelector('form');
      form?.requestSubmit();
      form?.requestSubmit();
    });
    await vi.waitFor(() => expect(receiver.posts).toHaveLength(1));
    expect(await page.isDisabled('button')).toBe(true);
    expect(await page.getAttribute('form', 'aria-busy')).toBe('true');
    release();
    await hear(page, 'accepted');
    expect(await page.isEnabled('button')).toBe(true);
    expect(await page.getAttribute('form', 'aria-busy')).toBe('false');
    expect(receiver.posts).toHaveLength(1);
  });

  test('keeps its key when the page is reloaded and the same form sent again', async () => {
    const page = await visit(await openLanding());
    await fill(page, ANA);
    await submit(page);
    const first = await hear(page, 'accepted');
    await page.reload();
    await page.waitForFunction(() => 'leadgate' in window);
    await fill(page, ANA);
    await submit(page);
    const second = await hear(page, 'accepted');
    expect(second.leadId).toBe(first.leadId);
    expect(receiver.posts).toHaveLength(2);
    expect(keys()).toHaveLength(1);
  });

  test('gets a new key when its content changes', async () => {
    const page = await visit(await openLanding());
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    await fill(page, { name: 'Ana Maria' });
    await submit(page);
    await vi.waitFor(async () => expect(await heardOn(page)).toHaveLength(2));
    expect(keys()).toHaveLength(2);
  });

  test.each([429, 503])(
    'is sent again after %s, not before Retry-After, under the same key',
    async (status) => {
      receiver.stage({ status, retryAfter: 2 });
      const page = await visit(await openLanding());
      await fill(page, ANA);
      const start = Date.now();
      await submit(page);
      await hear(page, 'accepted');
      expect(Date.now() - start).toBeGreaterThanOrEqual(2000);
      expect(receiver.posts).toHaveLength(2);
      expect(receiver.posts[0]?.body).toBe(receiver.posts[1]?.body);
    },
  );

  test('is sent again after the answer of something that is not the receiver', async () => {
    receiver.stage({ status: 502 }, { status: 500 });
    const page = await visit(await openLanding());
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(keys()).toHaveLength(1);
  });

  test('goes as a beacon, under its key, when the page is left before an answer', async () => {
    const site = await openLanding();
    const page = await visit(site);
    receiver.hold();
    await fill(page, ANA);
    await submit(page);
    await vi.waitFor(() => expect(receiver.posts).toHaveLength(1));
    await page.goto('about:blank');
    await vi.waitFor(() => expect(receiver.posts.length).toBeGreaterThan(1));
    expect(receiver.posts[1]).toEqual(receiver.posts[0]);
  });
});

function postJson(page: Page, url: string): Promise<number | string> {
  return page.evaluate(
    (to) =>
      fetch(to, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'Idempotency-Key': `k-${Date.now()}` },
        body: JSON.stringify({ email: 'json@example.com' }),
      }).then(
        ({ status }) => status,
        (error: Error) => error.name,
      ),
    url,
  );
}

describe('a lead that cannot be sent', () => {
  test('is kept while the visitor is offline, and sent once the network returns', async () => {
    const page = await visit(await openLanding());
    await fill(page, ANA);
    await visitor.setOffline(true);
    await submit(page);
    await hear(page, 'kept');
    expect(await page.getByRole('status').textContent()).toMatch(/^Sem conexão/);
    expect(await page.isEnabled('button')).toBe(true);
    expect(receiver.posts).toHaveLength(0);
    await visitor.setOffline(false);
    expect(await hear(page, 'accepted')).toMatchObject({ target: 'document' });
    expect(receiver.posts).toHaveLength(1);
    expect(await unsent(page)).toEqual([]);
  });

  test('is kept when the receiver is down, and sent once by the next visit', async () => {
    const site = await openLanding();
    receiver.setDown(true);
    const first = await visit(site);
    await fill(first, ANA);
    await submit(first);
    await hear(first, 'kept');
    expect(await unsent(first)).toHaveLength(1);
    await first.close();

    receiver.setDown(false);
    const second = await visit(site);
    await hear(second, 'accepted');
    // Of when it was filled in: its key may be forgotten by now, and newer facts known.
    expect(sent()).toEqual([
      { ...ANA, _idempotencyKey: A_KEY, _filledMs: A_WHILE, _ageMs: A_WHILE },
    ]);
    expect(await unsent(second)).toEqual([]);
    await second.close();

    const third = await visit(site);
    await fill(third, { ...ANA, name: 'Ana Maria' });
    await submit(third);
    await hear(third, 'accepted');
    expect(sent().map(({ name }) => name)).toEqual(['Ana', 'Ana Maria']);
  });

  test('goes before a newer one, which would else be overwritten by it', async () => {
    const page = await visit(await openLanding());
    receiver.setDown(true);
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'kept');
    receiver.setDown(false);
    await fill(page, { ...ANA, name: 'Ana Maria' });
    await submit(page);
    await vi.waitFor(async () =>
      expect((await heardOn(page)).filter(({ kind }) => kind === 'accepted')).toHaveLength(2),
    );
    expect(sent().map(({ name }) => name)).toEqual(['Ana', 'Ana Maria']);
  });

  test('waits for a long Retry-After without holding up the visitor', async () => {
    receiver.stage({ status: 503, retryAfter: 120 });
    const page = await visit(await openLanding());
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'kept');
    expect(receiver.posts).toHaveLength(1);
    await page.evaluate(() => window.dispatchEvent(new Event('online')));
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve)));
    expect(receiver.posts).toHaveLength(1);
  });

  test('leaves nothing in storage where that is off, and the visitor may try again', async () => {
    const page = await visit(await openLanding({ script: 'data-storage="off"' }), '?utm_source=x');
    receiver.setDown(true);
    await fill(page, ANA);
    await submit(page);
    expect(await hear(page, 'rejected')).toMatchObject({
      problem: { code: 'unreachable', status: 0 },
    });
    expect(await page.getByRole('alert').textContent()).toBe('Não foi possível enviar.');
    expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0);
    receiver.setDown(false);
    await submit(page);
    await hear(page, 'accepted');
    expect(sent()).toEqual([expect.objectContaining({ ...ANA, utmSource: 'x' })]);
    expect(await page.evaluate(() => localStorage.length + sessionStorage.length)).toBe(0);
  });

  test('is one of ten at most, and none older than a week', async () => {
    const site = await openLanding();
    receiver.setDown(true);
    const page = await visit(site);
    const url = `${receiver.origin}/ingest/${receiver.open}`;
    const day = 24 * 3600_000;
    await page.evaluate(
      ([to, now, aDay]) => {
        const old = { url: to, body: '{"name":"old"}', key: 'old', at: now - 8 * aDay };
        const ten = Array.from({ length: 10 }, (_, i) => ({
          ...old,
          key: `k${i}`,
          at: now - aDay,
        }));
        localStorage.setItem('leadgate', JSON.stringify([old, ...ten]));
      },
      [url, Date.now(), day] as const,
    );
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'kept');
    const kept = await unsent(page);
    expect(kept).toHaveLength(10);
    expect(kept.map(({ key }) => key)).not.toContain('old');
    expect(kept.map(({ key }) => key)).not.toContain('k0');
    expect(kept[9]?.body).toContain('ana@example.com');
  });

  test('does not break a page whose storage holds something else', async () => {
    const page = await visit(await openLanding());
    await page.evaluate(() => {
      localStorage.setItem('leadgate', '{"not":"ours"}');
      sessionStorage.setItem('leadgate', 'nor this');
    });
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
  });
});

const unsent = (page: Page) =>
  page.evaluate(
    () => JSON.parse(localStorage.getItem('leadgate') ?? '[]') as { key: string; body: string }[],
  );

describe('what a visitor is told', () => {
  test('a refused field is marked, described and focused; mending it is enough', async () => {
    const page = await visit(await openLanding());
    await fill(page, { ...ANA, telephone: 'abc', birthday: '31/02/1981' });
    await submit(page);
    expect(await hear(page, 'rejected')).toMatchObject({
      problem: { code: 'invalid-lead', status: 422 },
    });
    const telephone = page.locator('[name=telephone]');
    expect(await telephone.getAttribute('aria-invalid')).toBe('true');
    expect(await describedBy(page, '[name=telephone]')).toEqual(['Confira este campo.']);
    expect(await describedBy(page, '[name=birthday]')).toEqual(['Confira este campo.']);
    expect(await page.evaluate(() => document.activeElement?.getAttribute('name'))).toBe(
      'telephone',
    );
    expect(await page.getByRole('alert').textContent()).toBe('Não foi possível enviar.');
    expect(await page.inputValue('[name=name]')).toBe('Ana');

    await fill(page, { telephone: '11987650001', birthday: '1981-02-28' });
    await submit(page);
    await hear(page, 'accepted');
    expect(await telephone.getAttribute('aria-invalid')).toBe('false');
    expect(await describedBy(page, '[name=telephone]')).toEqual([]);
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await page.locator('.leadgate-note').count()).toBe(1);
  });

  test('a description of the page’s own stays', async () => {
    const page = await visit(await openLanding());
    await page.route(`${receiver.origin}/ingest/**`, (route) =>
      route.fulfill({
        status: 422,
        contentType: 'application/problem+json',
        headers: { 'access-control-allow-origin': '*' },
        json: {
          title: 't',
          status: 422,
          code: 'invalid-lead',
          errors: [{ pointer: '/email', code: 'c', detail: 'd' }],
        },
      }),
    );
    await submit(page);
    await hear(page, 'rejected');
    expect(await describedBy(page, '[name=email]')).toEqual([
      'Não enviamos spam',
      'Confira este campo.',
    ]);
    await page.unroute(`${receiver.origin}/ingest/**`);
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(await describedBy(page, '[name=email]')).toEqual(['Não enviamos spam']);
  });

  test('a disabled link is said once and for all', async () => {
    const form = FORM.replace('<form', `<form data-link="${receiver.closed}"`);
    const page = await visit(await openLanding({ form }));
    await fill(page, ANA);
    await submit(page);
    expect(await hear(page, 'rejected')).toMatchObject({
      problem: { code: 'link-closed', status: 410 },
    });
    expect(receiver.posts).toHaveLength(1);
    expect(await unsent(page)).toEqual([]);
  });

  test.each([
    ['en-GB', 'We have your details. Thank you!'],
    ['es', 'Recibimos sus datos. ¡Gracias!'],
    ['pt', 'Recebemos seus dados. Obrigado!'],
  ])('is in the language of the document: %s', async (lang, text) => {
    const page = await visit(await openLanding({ lang }));
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(await page.getByRole('status').textContent()).toBe(text);
  });

  test('is the page’s to say when it prevents ours', async () => {
    const page = await visit(await openLanding());
    await page.evaluate(() =>
      document.addEventListener('leadgate:accepted', (event) => event.preventDefault()),
    );
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(await page.locator('.leadgate-note').count()).toBe(0);
  });
});

function describedBy(page: Page, selector: string): Promise<(string | null | undefined)[]> {
  return page.$eval(selector, (input) =>
    (input.getAttribute('aria-describedby') ?? '')
      .split(' ')
      .filter(Boolean)
      .map((id) => document.getElementById(id)?.textContent),
  );
}

describe('on any page', () => {
  test('works under a strict content security policy, without eval and inline style', async () => {
    const site = await openLanding({
      headers: {
        'content-security-policy':
          `default-src 'none'; script-src ${receiver.origin}; connect-src ${receiver.origin}; ` +
          "form-action 'self'; base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
      },
    });
    const page = await visit(site);
    const complaints: string[] = [];
    page.on('console', (message) => {
      if (/security policy|trusted/i.test(message.text())) complaints.push(message.text());
    });
    await fill(page, { ...ANA, telephone: 'abc' });
    await submit(page);
    await hear(page, 'rejected');
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(complaints).toEqual([]);
  });

  test('hears a form that is added later, and one that names its own link', async () => {
    const page = await visit(await openLanding({ form: '' }));
    await page.evaluate(
      (form) => document.body.insertAdjacentHTML('afterbegin', form),
      FORM.replace('<form', `<form data-link="${receiver.closed}"`),
    );
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'rejected');
    expect(receiver.posts[0]?.path).toBe(`/ingest/${receiver.closed}`);
  });

  test('leaves alone what the page prevents, and forms that are not marked', async () => {
    const page = await visit(
      await openLanding({ form: FORM + '<form id="other" action="/other"></form>' }),
    );
    await page.evaluate(() =>
      document.forms[0]?.addEventListener('submit', (event) => event.preventDefault(), {
        once: true,
      }),
    );
    await fill(page, ANA);
    await submit(page);
    expect(receiver.posts).toHaveLength(0);
    await submit(page);
    await hear(page, 'accepted');
    await page.evaluate(() => document.forms[1]?.requestSubmit());
    await page.waitForURL('**/other?');
    expect(receiver.posts).toHaveLength(1);
  });

  test('a form still posts by itself where the script cannot be loaded', async () => {
    const action = `${receiver.origin}/ingest/${receiver.open}`;
    const form = FORM.replace('<form', `<form action="${action}" method="post"`);
    const site = await openLanding({ form });
    const page = await visitor.newPage();
    await page.route('**/capture.js', (route) => route.abort());
    await page.goto(site.origin);
    await fill(page, ANA);
    await submit(page);
    await vi.waitFor(() => expect(receiver.posts).toHaveLength(1));
    expect(receiver.posts[0]?.body).toContain('email=ana%40example.com');
  });

  test('a function sends a lead too, and rejects with the problem', async () => {
    const page = await visit(await openLanding());
    const results = await page.evaluate(
      ([link, lead]) =>
        Promise.allSettled([
          window.leadgate?.capture(link, lead),
          window.leadgate?.capture(link, { ...lead, telephone: 'abc' }),
        ]).then(([taken, refused]) => [
          taken.status === 'fulfilled' && taken.value?.leadId,
          refused.status === 'rejected' &&
            (refused.reason as { problem: { code: string } }).problem.code,
        ]),
      [receiver.open, ANA] as const,
    );
    expect(results).toEqual([A_UUID, 'invalid-lead']);
  });

  test('the base may be another than the script’s origin', async () => {
    const elsewhere = await openReceiver(snippet, inject('receiver'));
    const page = await visit(await openLanding({ script: `data-base="${elsewhere.origin}"` }));
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(elsewhere.posts).toHaveLength(1);
    await elsewhere.close();
  });
});

describe('the touch', () => {
  const TOUCH = '?utm_source=google&utm_medium=cpc&utm_campaign=verao';
  const touch = { utmSource: 'google', utmMedium: 'cpc', utmCampaign: 'verao' };

  test('is that of the address bar', async () => {
    const page = await visit(await openLanding(), TOUCH);
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(sent()[0]).toMatchObject(touch);
  });

  test('is remembered on the way to the form, and a later one takes its place as a whole', async () => {
    const site = await openLanding();
    const page = await visit(site, TOUCH);
    await page.goto(`${site.origin}/form`);
    await page.waitForFunction(() => 'leadgate' in window);
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(sent()[0]).toMatchObject(touch);
    await page.goto(`${site.origin}/?utm_source=instagram`);
    await page.waitForFunction(() => 'leadgate' in window);
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(sent()[1]).toMatchObject({ utmSource: 'instagram' });
    expect(sent()[1]).not.toHaveProperty('utmMedium');
  });

  test('is the visit’s first where the page asks for it', async () => {
    const site = await openLanding({ script: 'data-touch="first"' });
    const page = await visit(site, TOUCH);
    await page.goto(`${site.origin}/?utm_source=instagram`);
    await page.waitForFunction(() => 'leadgate' in window);
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(sent()[0]).toMatchObject(touch);
  });

  test('is the form’s own where it has one, and is not mixed with the visit’s', async () => {
    const form = FORM.replace(
      '<button',
      '<input type="hidden" name="utm_source" value="tv"><button',
    );
    const page = await visit(await openLanding({ form }), TOUCH);
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(sent()[0]).toMatchObject({ utmSource: 'tv' });
    expect(sent()[0]).not.toHaveProperty('utmMedium');
  });

  test('never makes the body too large to be taken', async () => {
    const mark = 'ã'.repeat(4000);
    const query = ['source', 'medium', 'campaign', 'content', 'term'].map(
      (m) => `utm_${m}=${mark}`,
    );
    const page = await visit(await openLanding(), '?' + query.join('&'));
    await fill(page, ANA);
    await submit(page);
    await hear(page, 'accepted');
    expect(Buffer.byteLength(receiver.posts[0]?.body ?? '')).toBeLessThan(64 * 1024);
    expect(sent()[0]?.['utmContent']).toHaveLength(3000);
  });
});

describe('an ad click', () => {
  const attributionOf = (n: number) => sent()[n]?.['attribution'];
  const A_TIME: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);

  async function send(page: Page, more: Record<string, string> = {}): Promise<void> {
    const before = receiver.posts.length;
    await fill(page, { ...ANA, ...more });
    await submit(page);
    await vi.waitFor(() => expect(receiver.posts.length).toBeGreaterThan(before));
    await page.waitForSelector('form[aria-busy=false]');
  }

  test('without a utm mark goes along, with where it led, from the second page too', async () => {
    const site = await openLanding();
    const page = await visit(site, '?gclid=g-1&gbraid=b-1#top');
    const from = page.url();
    // Another page of the visit, without a query.
    await page.evaluate(() => void (location.href = '/form'));
    await page.waitForURL('**/form');
    await page.waitForFunction(() => 'leadgate' in window);
    await send(page);
    expect(attributionOf(0)).toEqual({
      ...{ gclid: 'g-1', gbraid: 'b-1', clickedAt: A_TIME },
      landingPage: from.replace('#top', ''),
    });
    expect(sent()[0]).not.toHaveProperty('customFields');
  });

  test('that is loaded again is the same click, and the same content one submission', async () => {
    const page = await visit(await openLanding(), '?gclid=g-1');
    await send(page);
    await page.reload();
    await page.waitForFunction(() => 'leadgate' in window);
    await send(page);
    expect(attributionOf(1)).toEqual(attributionOf(0));
    expect(keys()).toHaveLength(1);
  });

  test('of another ad takes the place of the first, as a whole, unless the first is asked for', async () => {
    for (const [script, expected] of [
      ['', { fbclid: 'f-2' }],
      ['data-touch="first"', { gclid: 'g-1' }],
    ] as const) {
      const site = await openLanding({ script });
      const page = await visit(site, '?gclid=g-1&utm_source=google');
      await page.goto(`${site.origin}/?fbclid=f-2`);
      await page.waitForFunction(() => 'leadgate' in window);
      await send(page);
      const {
        landingPage: _,
        clickedAt: __,
        ...ids
      } = attributionOf(receiver.posts.length - 1) as Record<string, string>;
      expect(ids).toEqual(expected);
    }
    expect(sent()[0]).not.toHaveProperty('utmSource');
    expect(sent()[1]).toHaveProperty('utmSource', 'google');
  });

  test('says the page before it', async () => {
    const site = await openLanding();
    const page = await visit(site);
    await page.evaluate(() => void (location.href = '/?msclkid=m-1'));
    await page.waitForURL('**/?msclkid=m-1');
    await page.waitForFunction(() => 'leadgate' in window);
    await send(page);
    expect(attributionOf(0)).toMatchObject({ msclkid: 'm-1', referrer: `${site.origin}/` });
  });

  test('is known with what Meta’s pixel keeps, and these go along without a click too', async () => {
    const site = await openLanding();
    const url = site.origin;
    await visitor.addCookies([
      { name: '_fbp', value: 'fb.1.1554763741205.234567890', url },
      { name: '_fbc', value: 'fb.1.1554763741205.AbCdEf', url },
      { name: 'x_fbp', value: 'no', url },
    ]);
    const ids = { fbp: 'fb.1.1554763741205.234567890', fbc: 'fb.1.1554763741205.AbCdEf' };
    await send(await visit(site));
    expect(attributionOf(0)).toEqual(ids);
    await send(await visit(site, '?fbclid=AbCdEf'));
    expect(attributionOf(1)).toMatchObject({ ...ids, fbclid: 'AbCdEf' });
  });

  test('is kept in memory where storage is refused', async () => {
    const page = await visit(await openLanding({ script: 'data-storage="off"' }), '?ttclid=t-1');
    await send(page);
    expect(attributionOf(0)).toMatchObject({ ttclid: 't-1' });
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  });

  test('is neither kept nor sent while the page says that its visitor refuses', async () => {
    const site = await openLanding({ script: 'data-attribution="off"' });
    await visitor.addCookies([{ name: '_fbp', value: 'fb.1.1.2', url: site.origin }]);
    const page = await visit(site, '?gclid=g-1&utm_source=google');
    await send(page);
    expect(sent()[0]).toMatchObject({ utmSource: 'google' });
    expect(attributionOf(0)).toBeUndefined();
    expect(await page.evaluate(() => sessionStorage.getItem('leadgate'))).not.toContain('g-1');
    const say = (what: string) =>
      page.evaluate((one) => {
        document.querySelector<HTMLElement>('script[data-link]')!.dataset['attribution'] = one;
      }, what);
    await say('on');
    await send(page, { name: 'Ana Lima' });
    expect(attributionOf(1)).toMatchObject({ gclid: 'g-1', fbp: 'fb.1.1.2' });
    await say('off');
    await send(page, { name: 'Ana' });
    expect(attributionOf(2)).toBeUndefined();
    expect(await page.evaluate(() => sessionStorage.getItem('leadgate'))).not.toContain('g-1');
  });

  test('that the form says itself is not mixed with that of the visit', async () => {
    const hidden = '<input type="hidden" name="gclid" value="own"><button';
    const blank = '<input type="hidden" name="gclid"><input type="hidden" name="fbclid"><button';
    await send(
      await visit(await openLanding({ form: FORM.replace('<button', hidden) }), '?fbclid=f'),
    );
    expect(attributionOf(0)).toEqual({ gclid: 'own' });
    await send(
      await visit(await openLanding({ form: FORM.replace('<button', blank) }), '?fbclid=f'),
    );
    expect(attributionOf(1)).toMatchObject({ fbclid: 'f' });
  });

  test('with ids as long as an address can be still fits a body', async () => {
    const id = 'x'.repeat(9_000);
    const page = await visit(await openLanding(), `?gclid=${id}&fbclid=${id}&utm_source=${id}`);
    await send(page);
    expect(receiver.posts[0]?.body.length).toBeLessThan(20_000);
    expect((await heardOn(page))[0]?.kind).toBe('accepted');
  });
});
