import { connectRedis, type RedisConnection } from '@leadgate/boot';
import type { Lead, LinkMapping, Submission } from '@leadgate/contract';
import { createReserver, openLinkDirectory, type LinkDirectory } from '@leadgate/intake';
import { identityKeys, PRESET_NAMES } from '@leadgate/leads';
import { applyGroup, openStore, type Store } from '@leadgate/store';
import { testDatabase, testRedis } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { run } from './run.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let redisServer: Awaited<ReturnType<typeof testRedis>>;
let store: Store;
let redis: RedisConnection;
let subscriber: RedisConnection;
let directory: LinkDirectory;

beforeAll(async () => {
  database = await testDatabase();
  redisServer = await testRedis();
  store = openStore({ url: database.url, poolSize: 4 });
  redis = connectRedis(redisServer.url, { role: 'admin' });
  subscriber = connectRedis(redisServer.url, { role: 'subscriber' });
  directory = await openLinkDirectory(redis, subscriber, { logger: SILENT });
});

afterAll(async () => {
  await directory.close();
  redis.disconnect();
  subscriber.disconnect();
  await store.close();
  await redisServer.flush();
  await database.drop();
});

const SILENT = { info: () => {}, warn: () => {}, error: () => {}, debug: () => {} };
const NOBODY = '127.0.0.1:1';

interface Ran {
  status: number;
  out: string;
  err: string;
}

/** Runs a command line on the test's servers. */
async function leadgate(argv: string[], env: Record<string, string> = {}): Promise<Ran> {
  const ran = { status: -1, out: '', err: '' };
  ran.status = await run(argv, {
    out: (text) => (ran.out += text),
    err: (text) => (ran.err += text),
    env: {
      DATABASE_URL: database.url,
      REDIS_URL: redisServer.url,
      RECEIVER_URL: 'https://leads.example/',
      SECRETS_KEY: 'a key of thirty-two characters or more',
      ...env,
    },
    cwd: tmpdir(),
  });
  return ran;
}

/** Runs a command line that is expected to work, and parses its JSON. */
async function json<T>(...argv: string[]): Promise<T> {
  const { status, out, err } = await leadgate([...argv, '--json']);
  if (status !== 0) throw new Error(`${argv.join(' ')}: ${err}`);
  return JSON.parse(out) as T;
}

/** Expects a failure: its status, one sentence and nothing else. */
async function failure(argv: string[], env: Record<string, string> = {}): Promise<Ran> {
  const ran = await leadgate(argv, env);
  expect(ran.out).toBe('');
  expect(ran.err).toMatch(/^leadgate: .+[.?)]\n$/s);
  expect(ran.err).not.toMatch(/ {4}at |\.ts:|node_modules/);
  return ran;
}

interface PrintedLink {
  id: string;
  code: string;
  captureUrl: string;
  status: string;
  expiresAt: string | null;
  codes: { code: string; expiresAt: string | null }[];
}

/** A fresh workspace with a link. */
async function stage(): Promise<{ workspace: string; workspaceId: string; link: PrintedLink }> {
  const workspace = `Agência ${randomUUID().slice(0, 8)}`;
  const { id: workspaceId } = await json<{ id: string }>('workspace', 'create', workspace);
  const link = await json<PrintedLink>('link', 'create', workspace, '--label', 'Landing');
  return { workspace, workspaceId, link };
}

let posts = 0;

/** What the receiver and a worker do with a lead. Resolves to the id that is answered. */
async function capture(
  { workspaceId, link }: { workspaceId: string; link: PrintedLink },
  lead: Lead,
  more: Partial<Submission> = {},
): Promise<{ leadId: string; submissionId: string }> {
  posts += 1;
  const id = `01990000-0000-7000-8000-${posts.toString(16).padStart(12, '0')}`;
  const { keys } = identityKeys(lead, { country: 'BR', dummyPhones: [] });
  const reserver = createReserver(redis);
  const reservation = await reserver.reserve({
    submissionId: id,
    workspaceId,
    linkId: link.id,
    offeredLeadId: randomUUID(),
    identityKeys: keys,
    limits: [],
  });
  if (reservation.kind !== 'reserved') throw new Error(reservation.kind);
  const { leadId, identities, order } = reservation;
  const submission: Submission = {
    id,
    workspaceId,
    linkId: link.id,
    leadId,
    identities,
    order,
    stamp: order,
    source: 'post',
    lead,
    notes: [],
    body: JSON.stringify(lead),
    bodyType: 'json',
    page: 'https://lp.example/',
    ...more,
  };
  await applyGroup(store, [{ submission, replay: false }]);
  return { leadId, submissionId: id };
}

const TURNSTILE = 'https://challenges.cloudflare.com/turnstile/v0/siteverify';

describe('workspace', () => {
  test('a new one is listed and can be claimed in at once', async () => {
    const { workspace, workspaceId, link } = await stage();
    expect(await json('workspace', 'list')).toContainEqual(
      expect.objectContaining({ id: workspaceId, name: workspace, country: 'BR' }),
    );
    expect((await leadgate(['workspace', 'list'])).out).toContain(workspace);
    await capture({ workspaceId, link }, { email: 'first@example.com' });
  });

  test('dummies are kept as they are compared', async () => {
    const created = await json('workspace', 'create', 'Dummies', '--dummy', '(11) 90000-1234');
    expect(created).toMatchObject({ dummyPhones: ['+5511900001234'] });
  });

  test('says which telephones identify nobody, and receivers follow at once', async () => {
    const { workspace, link } = await stage();
    const set = ['workspace', 'set', workspace, '--dummy', '11 90000-1234'];
    const changed = await json(...set, '--dummy-class', 'repeated', 'impossible');
    const rules = { dummyPhones: ['+5511900001234'], dummyClasses: ['repeated', 'impossible'] };
    expect(changed).toMatchObject(rules);
    await expect.poll(() => directory.peek(link.code)).toMatchObject(rules);
    const reset = await json('workspace', 'set', workspace, '--no-dummy-class');
    expect(reset).toMatchObject({ ...rules, dummyClasses: [] });
    await expect
      .poll(() => directory.peek(link.code))
      .toMatchObject({ ...rules, dummyClasses: [] });
    expect((await failure(['workspace', 'set', workspace, '--dummy-class', 'odd'])).status).toBe(2);
    expect((await failure(['workspace', 'set', workspace, '--dummy', '123'])).status).toBe(2);
  });

  test('wrong input is refused in a sentence', async () => {
    const { workspace } = await stage();
    expect(await failure(['workspace', 'create', workspace])).toMatchObject({ status: 1 });
    expect((await failure(['workspace', 'create', ' '])).status).toBe(2);
    expect((await failure(['workspace', 'create', 'a\u001bb'])).err).not.toContain('\u001b');
    expect((await failure(['workspace', 'create', 'Other', '--country', 'ZZ'])).status).toBe(2);
    expect((await failure(['workspace', 'create', 'Other', '--dummy', 'abc'])).status).toBe(2);
    expect((await failure(['workspace', 'create'])).status).toBe(2);
  });
});

describe('field', () => {
  test('is created, renamed, archived and listed, by name or id of the workspace', async () => {
    const { workspace, workspaceId } = await stage();
    const options = ['--option', 'ouro', '--option', 'prata'];
    const field = await json<{ id: string }>(
      ...['field', 'create', workspace, '--name', 'plano', '--type', 'select', ...options],
    );
    expect(await json('field', 'rename', workspaceId, 'PLANO', '--name', 'plan')).toMatchObject({
      id: field.id,
      name: 'plan',
      label: 'plano',
    });
    expect(await json('field', 'archive', workspace, field.id)).toMatchObject({ archived: true });
    expect(await json('field', 'list', workspace)).toMatchObject([
      { name: 'plan', type: 'select', options: ['ouro', 'prata'], archived: true },
    ]);
    const again = await failure(['field', 'create', workspace, '--name', 'Plan', '--type', 'text']);
    expect(again).toMatchObject({ status: 1 });
    expect(again.err).toContain('archived');
  });

  test('wrong input is refused, and the near name is suggested', async () => {
    const { workspace } = await stage();
    await json('field', 'create', workspace, '--name', 'renda', '--type', 'number');
    const create = ['field', 'create', workspace, '--name', 'x'];
    expect((await failure([...create, '--type', 'txt'])).err).toContain('multi-select');
    expect((await failure([...create, '--type', 'select'])).err).toContain('option');
    expect((await failure([...create])).status).toBe(2);
    expect((await failure(['field', 'rename', workspace, 'renda'])).status).toBe(2);
    const unknown = await failure(['field', 'archive', workspace, 'rendas']);
    expect(unknown).toMatchObject({ status: 1 });
    expect(unknown.err).toContain('did you mean "renda"?');
    const elsewhere = await failure(['field', 'list', workspace.toLowerCase()]);
    expect(elsewhere.err).toContain(`did you mean "${workspace}"?`);
  });
});

describe('link', () => {
  const stateOf = async (code: string) => {
    const found = await directory.find(code);
    return found.kind === 'found' ? found.link.state : found.kind;
  };

  test('a new one is posted to at once, and is found by code, id and URL', async () => {
    const { workspace } = await stage();
    const link = await json<PrintedLink>(
      ...['link', 'create', workspace, '--mode', 'lenient', '--require-identity'],
      ...['--origin', 'https://LP.example', '--no-allow-servers', '--link-limit', '60'],
      ...['--redirect-url', 'https://lp.example/thanks', '--expires', '30d'],
    );
    expect(link.captureUrl).toBe(`https://leads.example/ingest/${link.code}`);
    const found = await directory.find(link.code);
    expect(found).toMatchObject({
      kind: 'found',
      link: {
        mode: 'lenient',
        requireIdentity: true,
        origins: ['https://lp.example'],
        allowServers: false,
        linkLimit: 60,
        redirectUrl: 'https://lp.example/thanks',
      },
    });
    for (const named of [link.code, link.id, link.captureUrl])
      expect(await json('link', 'show', named)).toEqual(link);
    const { out } = await leadgate(['link', 'show', link.code]);
    for (const told of [link.captureUrl, 'https://lp.example', 'lenient', '60 a minute'])
      expect(out).toContain(told);
  });

  test('disable, enable and expire reach the receivers with the command', async () => {
    const { link } = await stage();
    expect(await json('link', 'disable', link.code)).toMatchObject({ status: 'disabled' });
    await vi.waitFor(async () => expect(await stateOf(link.code)).toBe('disabled'));
    expect(await json('link', 'enable', link.id)).toMatchObject({ status: 'open' });
    await vi.waitFor(async () => expect(await stateOf(link.code)).toBe('open'));
    expect(await json('link', 'expire', link.code)).toMatchObject({ status: 'expired' });
    await vi.waitFor(async () => {
      const found = await directory.find(link.code);
      expect(found.kind === 'found' && found.link.expiresAt).toBeLessThanOrEqual(Date.now());
    });
    expect(await failure(['link', 'rotate', link.code])).toMatchObject({ status: 1 });
    expect(await json('link', 'expire', link.code, '--never')).toMatchObject({
      status: 'open',
      expiresAt: null,
    });
  });

  test('the page on senders is true to the commands: each line does what it says', async () => {
    const { link } = await stage();
    const folder = mkdtempSync(join(tmpdir(), 'leadgate-'));
    const files: Record<string, string> = { 'key.txt': 'k-123', 'body.json': '{"plan":"ouro"}' };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    const page = readFileSync(new URL('../../../docs/integrate.md', import.meta.url), 'utf8');
    const lines = [...page.matchAll(/^```sh-setup\n([^]*?)^```$/gm)]
      .flatMap(([, block = '']) => block.split('\n'))
      .filter((line) => line.startsWith('leadgate '));
    const mapped = new Set<unknown>();
    for (const line of lines) {
      const words = [...line.matchAll(/'([^']*)'|(\S+)/g)].map(
        ([, quoted, bare]) => quoted ?? bare,
      );
      const argv = words.slice(1).map((word = '') => (word in files ? join(folder, word) : word));
      const ran = await leadgate(argv.map((word) => (word === 'CODE' ? link.code : word)));
      expect(ran, line).toMatchObject({ status: 0, err: '' });
      mapped.add((await json<{ mapping: unknown }>('link', 'show', link.code)).mapping);
    }
    const presets = [...mapped].map((one) => (one as LinkMapping | null)?.preset);
    expect(new Set(presets)).toEqual(new Set([...PRESET_NAMES, null, undefined]));
  });

  test('a link is mapped by a preset and by rules, tried first, and unmapped', async () => {
    const { link } = await stage();
    const file = join(mkdtempSync(join(tmpdir(), 'leadgate-')), 'body.json');
    const answer = { column_id: 'EMAIL', string_value: 'Joana@Example.com' };
    writeFileSync(
      file,
      JSON.stringify({ gcl_id: 'g-1', user_column_data: [answer], tel: '11987650001' }),
    );
    const rules = ['--preset', 'google-lead-form', '--rule', 'telephone=$.tel'];
    const tried = await json('link', 'map', link.code, ...rules, '--try', file);
    const lead = { email: 'joana@example.com', telephone: '11987650001' };
    expect(tried).toMatchObject({ lead: { ...lead, attribution: { gclid: 'g-1' } } });
    expect(await json('link', 'show', link.code)).toMatchObject({ mapping: null });

    const mapped = await json('link', 'map', link.code, ...rules);
    expect(mapped).toMatchObject({
      mapping: {
        preset: 'google-lead-form',
        rules: { telephone: ['$.tel', expect.any(String), expect.any(String)] },
      },
    });
    await vi.waitFor(async () => {
      const found = await directory.find(link.code);
      expect(found.kind === 'found' && found.link.mapping?.preset).toBe('google-lead-form');
    });
    expect(await json('link', 'map', link.code, '--try', file)).toMatchObject({ lead });
    expect((await leadgate(['link', 'show', link.code])).out).toContain(
      'google-lead-form: address.country',
    );
    writeFileSync(file, JSON.stringify({ of: [{ mail: 'a@x.io' }, { mail: 'b@x.io' }] }));
    const list = ['--rule', 'email=$.mail', '--rows', '$.of', '--try', file];
    expect((await leadgate(['link', 'map', link.code, ...list])).out).toMatch(
      /email +a@x\.io[^]*email +b@x\.io/,
    );
    // Another setting leaves it as it is.
    expect(await json('link', 'set', link.code, '--label', 'x')).toHaveProperty('mapping.preset');

    for (const wrong of ['emial=$.a', 'email=$.a[', 'email']) {
      const { status, err } = await failure(['link', 'map', link.code, '--rule', wrong]);
      expect(status).not.toBe(0);
      expect(err).not.toBe('');
    }
    expect(await json('link', 'suggest', link.code)).toEqual({
      ...{ bodies: 0, unrecognised: 0, rules: {} },
    });
    const secret = join(mkdtempSync(join(tmpdir(), 'leadgate-')), 'secret');
    writeFileSync(secret, 'k-123\n');
    const proof = ['--preset', 'google-lead-form', '--secret-file', secret];
    const proven = await leadgate(['link', 'prove', link.code, ...proof, '--json']);
    expect(JSON.parse(proven.out)).toMatchObject({ proof: { way: 'body', key: 'google_key' } });
    expect(proven.out).not.toContain('k-123');
    await vi.waitFor(async () => {
      const found = await directory.find(link.code);
      expect(found.kind === 'found' && found.link.proof?.secret).toMatch(/^sealed:/);
    });
    expect(await json('link', 'prove', link.code, '--none')).toMatchObject({ proof: null });
    expect((await failure(['link', 'prove', link.code, '--body-key', 'k'])).status).toBe(2);

    expect(await json('link', 'map', link.code, '--none')).toMatchObject({ mapping: null });
    await vi.waitFor(async () => {
      const found = await directory.find(link.code);
      expect(found.kind === 'found' && found.link).not.toHaveProperty('mapping');
    });
  });

  test('settings are changed one by one, and the CAPTCHA’s secret is shown to nobody', async () => {
    const { link } = await stage();
    const folder = mkdtempSync(join(tmpdir(), 'leadgate-'));
    const secret = 's3cret-of-turnstile';
    writeFileSync(join(folder, 'secret.txt'), `${secret}\n`);
    const set = async (...options: string[]) => {
      const ran = await leadgate(['link', 'set', link.code, ...options, '--json']);
      expect(ran).toMatchObject({ status: 0, err: '' });
      expect(ran.out).not.toContain(secret);
      return JSON.parse(ran.out) as PrintedLink;
    };
    await set('--redirect-url', 'https://lp.example/thanks', '--link-limit', '60');
    await set(
      ...['--honeypot', 'website', '--min-fill', '2.5', '--captcha-fail', 'closed'],
      ...['--captcha-url', TURNSTILE, '--captcha-secret-file'],
      join(folder, 'secret.txt'),
    );
    const guard = { honeypot: 'website', minFillSeconds: 2.5 };
    expect(await set('--label', 'Spring')).toMatchObject({
      label: 'Spring',
      redirectUrl: 'https://lp.example/thanks',
      guard: { ...guard, captcha: { verifyUrl: TURNSTILE, fail: 'closed' } },
    });
    // The file is not needed again.
    await set('--captcha-fail', 'open');
    await vi.waitFor(async () => {
      expect(await directory.find(link.code)).toMatchObject({
        link: {
          linkLimit: 60,
          guard: {
            honeypot: 'website',
            minFillMs: 2_500,
            captcha: {
              verifyUrl: TURNSTILE,
              secret: expect.stringMatching(/^sealed:/) as string,
              fail: 'open',
            },
          },
        },
      });
    });
    const shown = await leadgate(['link', 'show', link.code]);
    expect(shown.out).toContain(`${TURNSTILE}, takes what cannot be checked`);
    expect(shown.out).not.toContain(secret);
    await set('--no-honeypot', '--no-min-fill', '--no-captcha', '--no-redirect-url');
    await vi.waitFor(async () => {
      const found = await directory.find(link.code);
      expect(found).toMatchObject({ link: { redirectUrl: null } });
      expect(found.kind === 'found' && found.link).not.toHaveProperty('guard');
    });
  });

  test('the secret of a CAPTCHA is sent to no other address than it was given for', async () => {
    const { link } = await stage();
    const folder = mkdtempSync(join(tmpdir(), 'leadgate-'));
    writeFileSync(join(folder, 'secret.txt'), 'kept\n');
    const file = ['--captcha-secret-file', join(folder, 'secret.txt')];
    await json('link', 'set', link.code, '--captcha-url', TURNSTILE, ...file);
    const other = ['--captcha-url', 'https://evil.example/'];
    const { status, err } = await failure(['link', 'set', link.code, ...other]);
    expect(status).toBe(2);
    expect(err).toContain('another verify URL needs its own');
    const told = await leadgate(['link', 'set', link.code, ...other, ...file]);
    expect(told).toMatchObject({ status: 0 });
    expect(told.err).toContain('CAPTCHA_URLS');
  });

  test.each([
    [['--honeypot', 'email'], 'honeypot'],
    [['--captcha-url', 'http://captcha.example/'], 'https'],
    [['--captcha-url', 'https://captcha.example/'], 'secret'],
    [['--min-fill', 'soon'], 'seconds'],
    [['--origin', 'lp.example/path'], 'Origin 1'],
  ])('a setting that makes no sense is refused (%j)', async (options, word) => {
    const { link } = await stage();
    const { status, err } = await failure(['link', 'set', link.code, ...options]);
    expect(status).toBe(2);
    expect(err).toContain(word);
  });

  test('a rotation answers a new code, and the old one stays valid for the overlap', async () => {
    const { link } = await stage();
    const rotated = await json<PrintedLink>('link', 'rotate', link.code, '--overlap', '2d');
    expect(rotated.code).not.toBe(link.code);
    expect(rotated.codes.map(({ code }) => code)).toEqual([rotated.code, link.code]);
    const ends = Date.parse(rotated.codes[1]?.expiresAt ?? '');
    expect(ends / 1000).toBeCloseTo(Date.now() / 1000 + 172_800, -2);
    expect(await stateOf(rotated.code)).toBe('open');
    expect(await json('link', 'show', link.code)).toMatchObject({ id: link.id });
    expect((await leadgate(['link', 'show', link.id])).out).toContain('still valid');
  });

  test('links are listed, of a workspace or of all', async () => {
    const [one, other] = [await stage(), await stage()];
    const ids = (links: PrintedLink[]) => links.map(({ id }) => id);
    expect(ids(await json('link', 'list', one.workspace))).toEqual([one.link.id]);
    expect(ids(await json('link', 'list'))).toEqual(
      expect.arrayContaining([one.link.id, other.link.id]),
    );
  });

  test('with Redis away it is created all the same, with a word of warning', async () => {
    const { workspace } = await stage();
    const argv = ['link', 'create', workspace, '--json'];
    const { status, out, err } = await leadgate(argv, { REDIS_URL: `redis://${NOBODY}` });
    expect(status).toBe(0);
    expect(err).toContain('stored in Postgres');
    const { id } = JSON.parse(out) as PrintedLink;
    expect(await json('link', 'show', id)).toMatchObject({ status: 'open' });
  });

  test.each([
    ['an origin with a path', ['--origin', 'https://lp.example/page'], 'https://lp.example.'],
    ['a relative redirect', ['--redirect-url', '/thanks'], 'redirect URL'],
    ['a limit of none', ['--link-limit', '0'], 'at least 1'],
    ['an end that is past', ['--expires', '2020-01-01'], 'past'],
    ['an end that is no time', ['--expires', 'soon'], '30d'],
    ['an unknown mode', ['--mode', 'loose'], 'lenient'],
    ['an unknown option', ['--origins', 'https://lp.example'], '--origin'],
  ])('%s is refused', async (_, options, told) => {
    const { workspace } = await stage();
    const refused = await failure(['link', 'create', workspace, ...options]);
    expect(refused.status).toBe(2);
    expect(refused.err).toContain(told);
    expect(await json('link', 'list', workspace)).toHaveLength(1);
  });

  test('what is no link is not found, and a label suggests its link', async () => {
    const { link } = await stage();
    const label = `Spring ${link.code}`;
    const labelled = await stage();
    await json('link', 'create', labelled.workspace, '--label', label);
    expect(await failure(['link', 'show', 'nothing'])).toMatchObject({ status: 1 });
    expect((await failure(['link', 'disable', label])).err).toContain('did you mean');
    expect((await failure(['link', 'rotate', link.code, '--overlap', '1y'])).status).toBe(2);
    expect((await failure(['link', 'expire', link.code, '--at', 'x'])).status).toBe(2);
  });
});

describe('lead', () => {
  test('is found by email and by phone however it is written, and in part', async () => {
    const { workspace, workspaceId, link } = await stage();
    const lead = { email: 'joao@example.com', telephone: '31988880006', name: 'João Conceição' };
    const { leadId } = await capture({ workspaceId, link }, lead);
    for (const search of [
      ['--email', ' JOAO@Example.com '],
      ['--telephone', '031 8888-0006'],
      ['--telephone', '+55 31 98888-0006'],
      ['--name', 'conceicao joao'],
      ['joao@example.com'],
      ['joao@'],
      ['8888', '0006'],
      ['+55 (31) 98888-0006'],
      ['Conceição'],
      [leadId.toUpperCase()],
    ]) {
      const found = await json('lead', 'find', ...search, '--workspace', workspace);
      expect(found, search.join(' ')).toMatchObject([{ leadId, ...lead, telephone: '•••0006' }]);
    }
  });

  test('to find none is no failure: an empty array', async () => {
    expect(await json('lead', 'find', '--email', 'nobody@example.com')).toEqual([]);
    expect((await leadgate(['lead', 'find', 'nobody at all'])).out).toBe('No lead found.\n');
  });

  test('is shown with its fields named as in a posted body, and what set each', async () => {
    const { workspace, workspaceId, link } = await stage();
    const create = ['field', 'create', workspace, '--name'];
    await json(...create, 'plano', '--label', 'Plano de interesse', '--type', 'text');
    const first = await capture(
      { workspaceId, link },
      {
        email: 'ana@example.com',
        name: 'Ana',
        birthday: '1990-01-01',
        address: { city: 'Recife' },
        utmSource: 'meta',
        customFields: { plano: 'ouro' },
      },
      { notes: [{ field: '/foo', code: 'unknown-key' }] },
    );
    const second = await capture(
      { workspaceId, link },
      { email: 'ana@example.com', telephone: '11987654321', city: 'Olinda', utmSource: 'google' },
    );
    const { leadId } = first;
    const standing: unknown = expect.arrayContaining(['city', 'touch']);
    const shown = await json('lead', 'show', leadId);
    expect(shown).toMatchObject({
      leadId,
      workspace,
      email: 'ana@example.com',
      name: 'Ana',
      telephone: '11987654321',
      birthday: '1990-01-01',
      city: 'Olinda',
      address: { city: 'Recife' },
      utmSource: 'google',
      customFields: { plano: 'ouro' },
      customFieldDetails: [{ name: 'plano', label: 'Plano de interesse', value: 'ouro' }],
      firstTouch: { utmSource: 'meta', submissionId: first.submissionId },
      lastTouch: { utmSource: 'google', submissionId: second.submissionId },
      identities: [
        { kind: 'email', value: 'ana@example.com' },
        { kind: 'phone', value: '+5511987654321' },
      ],
      aliases: [],
      possibleDuplicates: [],
      provenance: {
        name: { submissionId: first.submissionId },
        city: { submissionId: second.submissionId },
      },
      history: [
        { submissionId: second.submissionId, stands: standing },
        { submissionId: first.submissionId, notes: [{ code: 'unknown-key', field: '/foo' }] },
      ],
    });
    const { out } = await leadgate(['lead', 'show', leadId]);
    for (const told of ['Recife', 'Plano de interesse', 'city*', 'unknown-key /foo', 'meta'])
      expect(out).toContain(told);
  });

  test('two are merged: both ids show one lead, and later posts are answered with it', async () => {
    const at = await stage();
    const kept = await capture(at, { email: 'kept@example.com', name: 'Ana' });
    const other = await capture(at, { telephone: '11911112222', city: 'Olinda' });
    await capture(at, { email: 'kept@example.com', telephone: '11911112222' });
    expect(await json('lead', 'show', kept.leadId)).toMatchObject({
      possibleDuplicates: [{ leadId: other.leadId, telephone: '•••2222' }],
    });
    const merged = await json('lead', 'merge', kept.leadId, other.leadId);
    expect(merged).toMatchObject({
      leadId: kept.leadId,
      name: 'Ana',
      city: 'Olinda',
      aliases: [other.leadId],
      possibleDuplicates: [],
    });
    expect(await json('lead', 'show', other.leadId)).toEqual(merged);
    const again = await capture(at, { telephone: '11911112222' });
    expect(again.leadId).toBe(kept.leadId);
    expect((await leadgate(['lead', 'merge', kept.leadId, other.leadId])).out).toContain('before');
  });

  test('people whom a telephone joined are taken apart: later posts are answered with their own lead', async () => {
    const at = await stage();
    const telephone = '11999999999';
    const ana = await capture(at, { email: 'ana.split@example.com', telephone, name: 'Ana' });
    const bia = await capture(at, { email: 'bia.split@example.com', telephone, name: 'Bia' });
    expect(bia.leadId).toBe(ana.leadId);
    const command = ['lead', 'split', ana.leadId, '--by', 'email'];
    expect((await leadgate([...command, '--dry-run'])).out).toContain('Would take it apart');
    expect(await json('lead', 'show', ana.leadId)).toMatchObject({ name: 'Bia' });
    const { parts } = await json<{ parts: { leadId: string }[] }>(...command);
    expect(parts).toMatchObject([
      { leadId: ana.leadId, email: 'ana.split@example.com', submissions: 1 },
      { email: 'bia.split@example.com', submissions: 1 },
    ]);
    const own = parts[1]?.leadId ?? '';
    expect(await json('lead', 'show', ana.leadId)).toMatchObject({ name: 'Ana' });
    expect(await json('lead', 'show', own)).toMatchObject({ name: 'Bia' });
    expect((await capture(at, { email: 'bia.split@example.com' })).leadId).toBe(own);
    const again = await failure(command);
    expect(again.err).toContain('nothing to take apart');
  });

  test('of two workspaces are not merged', async () => {
    const one = await capture(await stage(), { name: 'A' });
    const other = await capture(await stage(), { name: 'A' });
    const refused = await failure(['lead', 'merge', one.leadId, other.leadId]);
    expect(refused.status).toBe(1);
    expect(refused.err).toContain('two workspaces');
  });

  test('a name cannot drive the terminal of who looks at it', async () => {
    const at = await stage();
    const name = 'x\u009b2J\u202egnp.exe';
    const { leadId } = await capture(at, { email: `t${posts}@example.com`, name });
    for (const argv of [
      ['lead', 'show', leadId],
      ['lead', 'show', leadId, '--json'],
      ['lead', 'find', leadId],
      ['submission', 'list', '--lead', leadId],
    ]) {
      const { out } = await leadgate(argv);
      expect(out).toContain('gnp.exe');
      expect(out).not.toMatch(/[\u0080-\u009f\u202e]/);
    }
    expect(await json('lead', 'show', leadId)).toMatchObject({ name });
  });

  test.each([
    ['nothing to look for', ['find'], 2],
    ['two ways to look at once', ['find', '--email', 'a@example.com', '--name', 'a'], 2],
    ['a way and a text at once', ['find', 'ana', '--name', 'a'], 2],
    ['half an email', ['find', '--email', 'ana'], 2],
    ['a word for a phone', ['find', '--telephone', 'ana'], 2],
    ['an unknown workspace', ['find', 'ana', '--workspace', 'nowhere'], 1],
    ['what is no id', ['show', 'ana'], 2],
    ['an id that no lead has', ['show', '7c9e6679-7425-40de-944b-e07fc1f90ae7'], 1],
    ['one lead to merge', ['merge', '7c9e6679-7425-40de-944b-e07fc1f90ae7'], 2],
  ])('%s is refused', async (_, argv, status) => {
    expect((await failure(['lead', ...argv])).status).toBe(status);
  });
});

describe('submission', () => {
  test('are listed newest first, of a link, a lead or a workspace, page by page', async () => {
    const at = await stage();
    const a = await capture(at, { email: 'p1@example.com' });
    const b = await capture(at, { email: 'p2@example.com' });
    const ids = (list: { submissionId: string }[]) => list.map(({ submissionId }) => submissionId);
    expect(ids(await json('submission', 'list', '--link', at.link.code))).toEqual([
      b.submissionId,
      a.submissionId,
    ]);
    expect(ids(await json('submission', 'list', '--lead', a.leadId))).toEqual([a.submissionId]);
    const page = ['submission', 'list', '--workspace', at.workspace, '--limit', '1'];
    expect(ids(await json(...page))).toEqual([b.submissionId]);
    expect((await leadgate(page)).err).toContain(`--before ${b.submissionId}`);
    expect(ids(await json(...page, '--before', b.submissionId))).toEqual([a.submissionId]);
  });

  test('one is shown with its body as sent', async () => {
    const at = await stage();
    const { submissionId, leadId } = await capture(at, { email: 'body@example.com' });
    expect(await json('submission', 'show', submissionId)).toMatchObject({
      submissionId,
      leadId,
      body: '{"email":"body@example.com"}',
      lead: { email: 'body@example.com' },
      page: 'https://lp.example/',
    });
    const { out } = await leadgate(['submission', 'show', submissionId]);
    expect(out).toContain('{"email":"body@example.com"}');
  });

  test('what is no submission, lead or link is refused', async () => {
    const id = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
    expect((await failure(['submission', 'show', 'x'])).status).toBe(2);
    expect((await failure(['submission', 'show', id])).status).toBe(1);
    expect((await failure(['submission', 'list', '--lead', id])).status).toBe(1);
    expect((await failure(['submission', 'list', '--link', 'x'])).status).toBe(1);
    expect((await failure(['submission', 'list', '--before', 'x'])).status).toBe(2);
    expect((await failure(['submission', 'list', '--limit', '-1'])).status).toBe(2);
  });
});

describe('doctor and rebuild', () => {
  interface Report {
    ok: boolean;
    checks: { check: string; status: string; todo: string | null }[];
  }

  test('an empty Redis is told, and rebuild fills it so that known people keep their lead', async () => {
    const at = await stage();
    const before = await capture(at, { email: 'rebuilt@example.com' });
    await redisServer.flush();
    const sick = await leadgate(['doctor', '--json']);
    expect(sick.status).toBe(1);
    const report = JSON.parse(sick.out) as Report;
    expect(report.ok).toBe(false);
    const todo: unknown = expect.stringContaining('leadgate rebuild');
    expect(report.checks.filter(({ status }) => status === 'fail')).toMatchObject([
      { check: 'link directory', todo },
      { check: 'workspaces', todo },
    ]);

    const done = await json<{ links: number; workspaces: number; identities: number }>('rebuild');
    expect(done.links).toBeGreaterThan(0);
    expect(done.identities).toBeGreaterThan(0);
    expect(await directory.find(at.link.code)).toMatchObject({ kind: 'found' });
    expect((await capture(at, { email: 'rebuilt@example.com' })).leadId).toBe(before.leadId);

    expect(await json<Report>('doctor')).toMatchObject({ ok: true });
    const { out } = await leadgate(['doctor']);
    for (const told of [
      'postgres',
      'migrations',
      'eviction',
      'appendfsync',
      'queue',
      'failed jobs',
    ])
      expect(out).toContain(told);
  });

  test('servers that are away are findings, each by its name, and passwords are not shown', async () => {
    const { status, out, err } = await leadgate(['doctor'], {
      DATABASE_URL: `postgresql://operator:hunter2@${NOBODY}/leads`,
      REDIS_URL: `redis://:hunter2@${NOBODY}`,
    });
    expect(status).toBe(1);
    expect(out).toMatch(/fail +postgres/);
    expect(out).toMatch(/fail +redis/);
    expect(out + err).not.toContain('hunter2');
  });

  test('migrate has nothing to do on a migrated database', async () => {
    expect(await json('migrate')).toMatchObject({ applied: [] });
  });
});

describe('the command line itself', () => {
  test.each([
    'postgresql://operator:hunter2@127.0.0.1:1/leads',
    'postgresql://x@nowhere.invalid/y',
  ])(
    'a Postgres that is away is status 3 and one sentence without the password (%s)',
    async (url) => {
      const ran = await failure(['workspace', 'list'], { DATABASE_URL: url });
      expect(ran.status).toBe(3);
      expect(ran.err).toContain('DATABASE_URL');
      expect(ran.err).not.toContain('hunter2');
    },
  );

  test('a Redis that is away is status 3 where the command is about Redis', async () => {
    const ran = await failure(['rebuild'], { REDIS_URL: `redis://${NOBODY}` });
    expect(ran.status).toBe(3);
    expect(ran.err).toContain('REDIS_URL');
  });

  test('a database without tables says how to make them', async () => {
    const url = new URL(database.url);
    url.pathname = '/template1';
    const ran = await failure(['link', 'list'], { DATABASE_URL: url.href });
    expect(ran.err).toContain('leadgate migrate');
  });

  test('without settings it says what to set', async () => {
    const ran = await failure(['link', 'list'], { DATABASE_URL: '', REDIS_URL: '' });
    expect(ran.status).toBe(2);
    expect(ran.err).toContain('npm start');
  });

  test('a slip of a command is status 2 and suggests the near one', async () => {
    const { status, err } = await leadgate(['led']);
    expect(status).toBe(2);
    expect(err).toContain('lead');
    expect((await leadgate([])).status).toBe(2);
    expect((await leadgate(['\u001b[31m'])).err).not.toContain('\u001b');
  });

  test('the help names the exit statuses, and that of every command has an example', async () => {
    const help = await leadgate(['--help']);
    expect(help.status).toBe(0);
    expect(help.out).toMatch(/Exit status: 0 .*1 .*2 .*3 /s);
    for (const command of [
      ...['workspace create', 'workspace set', 'workspace list'],
      ...['field create', 'field list', 'field rename', 'field archive'],
      ...['link create', 'link list', 'link show', 'link disable', 'link enable', 'link rotate'],
      ...['link set', 'held list', 'held show', 'held release', 'held discard'],
      ...['link expire', 'lead find', 'lead show', 'lead merge', 'lead split'],
      ...['submission list', 'submission show', 'doctor', 'rebuild', 'migrate'],
    ]) {
      const { status, out } = await leadgate([...command.split(' '), '--help']);
      expect(status, command).toBe(0);
      expect(out, command).toContain(`$ leadgate ${command}`);
      expect(out, command).toContain('--json');
    }
  });
});
