import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectRedis, type RedisConnection } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import { allOperations } from '@leadgate/operations';
import { startApplyWorker, type ApplyWorker, type Outcome } from '@leadgate/queue';
import {
  addUpTallies,
  applyGroup,
  erasureKeyOf,
  listAudit,
  openStore,
  saveHeld,
  saveRejected,
  type Store,
} from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { run } from './run.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let redisServer: Awaited<ReturnType<typeof testRedis>>;
let store: Store;
let redis: RedisConnection;
let worker: ApplyWorker;
/** Ids of submissions that cannot be applied. */
const poison = new Set<string>();
const folder = mkdtempSync(join(tmpdir(), 'leadgate-'));

beforeAll(async () => {
  database = await testDatabase();
  redisServer = await testRedis();
  store = openStore({ url: database.url, poolSize: 4 });
  redis = connectRedis(redisServer.url, { role: 'worker' });
  worker = await startApplyWorker(redis, {
    concurrency: 10,
    logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    apply: (submissions: readonly Submission[], { replay }) =>
      Promise.all(
        submissions.map(async (submission): Promise<Outcome> => {
          if (poison.has(submission.id)) return { kind: 'failed', reason: 'failed with Error' };
          await applyGroup(store, [{ submission, replay }]);
          return { kind: 'settled' };
        }),
      ),
  });
});

afterAll(async () => {
  await worker.close({ timeoutMs: 3_000 });
  redis.disconnect();
  await store.close();
  await redisServer.flush();
  await database.drop();
});

async function leadgate(argv: string[], signal?: AbortSignal) {
  const ran = { status: -1, out: '', err: '' };
  ran.status = await run(argv, {
    out: (text) => (ran.out += text),
    err: (text) => (ran.err += text),
    env: { DATABASE_URL: database.url, REDIS_URL: redisServer.url, SECRETS_KEY, ERASURE_KEY },
    cwd: folder,
    ...(signal && { signal }),
  });
  return ran;
}

async function json<T>(...argv: string[]): Promise<T> {
  const { status, out, err } = await leadgate([...argv, '--json']);
  if (status !== 0) throw new Error(`${argv.join(' ')}: ${err}`);
  return JSON.parse(out) as T;
}

const SECRETS_KEY = 'a key of thirty-two characters or more';
const ERASURE_KEY = 'a key of the tests, long enough to hash';

let workspace: string;
let link: { id: string; workspaceId: string; code: string };
beforeEach(async () => {
  workspace = `Agency ${randomUUID().slice(0, 8)}`;
  await json('workspace', 'create', workspace);
  link = await json('link', 'create', workspace, '--label', 'Landing');
});

/** Waits until a check holds, however busy the machine is. */
const soon = (check: () => Promise<void>) => vi.waitFor(check, { timeout: 15_000, interval: 100 });

const leads = (email: string) =>
  json<{ leadId: string; name?: string; customFields: Record<string, unknown> }[]>(
    ...['lead', 'find', '--email', email, '--workspace', workspace],
  );

async function refuse(body: string): Promise<string> {
  const time = Date.now().toString(16).padStart(12, '0');
  const id = `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
  const errors = [{ pointer: '/email', code: 'not-an-email', detail: 'Not an email.' }];
  await saveRejected(store, [
    {
      id,
      workspaceId: link.workspaceId,
      linkId: link.id,
      stamp: Date.now() * 1_000,
      code: 'invalid-lead',
      errors,
      body,
      bodyType: 'json',
    },
  ]);
  return id;
}

test('a refused body is found, mended and taken, and the lead is there', async () => {
  const id = await refuse('{"email":"ana@","name":"Ana"}');
  expect((await leadgate(['rejected', 'list', '--link', link.code])).out).toContain(
    '/email not-an-email',
  );
  expect((await leadgate(['rejected', 'replay', id])).status).toBe(1);
  expect((await leadgate(['rejected', 'mend', id])).status).toBe(2);
  expect((await leadgate(['rejected', 'mend', id, '--set', 'email=ana@x.example'])).out).toContain(
    `leadgate rejected replay ${id}`,
  );
  expect((await leadgate(['rejected', 'show', id])).out).toContain('Body as mended');
  expect((await leadgate(['rejected', 'replay', id, '--dry-run'])).out).toContain('would be taken');
  expect(await json('rejected', 'replay', '--all', '--link', link.code)).toEqual({ accepted: 1 });
  await soon(async () => expect(await leads('ana@x.example')).toMatchObject([{ name: 'Ana' }]));
  expect((await leadgate(['rejected', 'replay', id])).out).toContain('taken before');
  const other = join(folder, 'body.json');
  writeFileSync(other, '{"email":"b@"}');
  const second = await refuse('{');
  const kept = await leadgate(['rejected', 'mend', second, '--body', other]);
  expect(kept.out).toContain('still to be refused');
  expect(await json('rejected', 'dismiss', second)).toMatchObject({ count: 1 });
  expect((await leadgate(['rejected', 'dismiss', second])).out).toContain('dismissed before');
  expect((await leadgate(['rejected', 'show', second])).out).toContain('dismissed');
  expect((await leadgate(['rejected', 'restore', second])).out).toBe('It waits again.\n');
  const [{ leadId } = {}] = await leads('ana@x.example');
  expect((await leadgate(['lead', 'events', String(leadId)])).out).toBe('Nothing yet.\n');
});

test('a file is imported once; what it refuses can be mended and imported', async () => {
  writeFileSync(join(folder, 'leads.csv'), 'E-mail;Nome;Fone\nc@x.example;Caio;\nbad@;Bia;\n');
  const args = ['import', 'leads.csv', '--link', link.code, '--map', 'Fone=telephone'];
  const before = readdirSync(folder);
  await leadgate([...args, '--dry-run']);
  expect(readdirSync(folder)).toEqual(before);
  const dry = await leadgate([...args, '--dry-run', '--errors', 'dry.csv']);
  expect(dry.out).toContain('2 rows: 1 row would be taken, 0 known already, 1 refused');
  expect(await json(...args)).toMatchObject({ imported: 1, refused: 1, known: 0 });
  await soon(async () => expect(await leads('c@x.example')).toMatchObject([{ name: 'Caio' }]));
  expect(await json(...args)).toMatchObject({ imported: 0, refused: 1, known: 1 });
  const report = join(folder, 'leads.errors.csv');
  const text = readFileSync(report, 'utf8');
  expect(text).toContain('"bad@";"Bia";"";');
  writeFileSync(report, text.replace('bad@', 'bia@x.example'));
  expect(await json('import', report, '--link', link.code)).toMatchObject({
    imported: 1,
    refused: 0,
  });
  const missing = await leadgate(['import', 'nowhere.csv', '--link', link.code]);
  expect(missing).toMatchObject({ status: 2 });
  expect((await leadgate([...args, '--rate', 'fast'])).status).toBe(2);
});

test('the forgotten field is filled by a replay, after a dry run that says so', async () => {
  writeFileSync(
    join(folder, 'rows.ndjson'),
    '{"email":"d@x.example","customFields":{"plano":"ouro"}}',
  );
  await json('import', 'rows.ndjson', '--link', link.code);
  await soon(async () => expect(await leads('d@x.example')).toHaveLength(1));
  await json('field', 'create', workspace, '--name', 'plano', '--type', 'text');
  const args = ['replay', '--link', link.code, '--note', 'unknown-custom-field'];
  const dry = await leadgate([...args, '--dry-run']);
  expect(dry.out).toContain('1 submission would be applied again; custom fields of 1 lead');
  expect(await json(...args)).toMatchObject({ enqueued: 1 });
  await soon(async () =>
    expect(await leads('d@x.example')).toMatchObject([{ customFields: { plano: 'ouro' } }]),
  );
  expect((await leadgate(['replay'])).status).toBe(2);
  const runs = await json<{ id: string; kind: string }[]>('run', 'list', '--workspace', workspace);
  expect(runs.map(({ kind }) => kind)).toEqual(['replay', 'import']);
  const [replay, imported] = runs.map(({ id }) => id);
  expect((await leadgate(['run', 'show', replay ?? ''])).out).toMatch(/done[^]*1 enqueued/);
  expect(await json('run', 'stop', replay ?? '')).toMatchObject({ state: 'done' });
  expect((await leadgate(['run', 'resume', replay ?? ''])).err).toContain('or is done');
  expect((await leadgate(['run', 'resume', imported ?? ''])).err).toContain('same file');
  expect((await leadgate(['run', 'refused', imported ?? ''])).err).toContain('no refused rows');
});

test('a failed job is listed by reason, shown, retried and discarded', async () => {
  const id = await refuse('{"email":"e@x.example"}');
  const { submissionId } = await json<{ submissionId: string }>(
    ...['rejected', 'replay', id, '--dry-run'],
  );
  poison.add(submissionId);
  await json('rejected', 'replay', id);
  const delayed = 'leadgate:{leads-0}:delayed';
  await soon(async () => expect(await redis.zcard(delayed)).toBe(1));
  // As if its attempts were spent.
  await redis
    .multi()
    .zrem(delayed, submissionId)
    .hset(`leadgate:{leads-0}:${submissionId}`, 'finishedOn', Date.now())
    .zadd('leadgate:{leads-0}:failed', Date.now(), submissionId)
    .exec();
  expect(await json('failed', 'list', '--by-reason')).toMatchObject([
    { jobs: 1, reason: 'failed with Error' },
  ]);
  expect((await leadgate(['failed', 'list'])).out).toContain(submissionId);
  expect((await leadgate(['failed', 'show', submissionId])).out).toContain('e@x.example');
  const dry = await leadgate(['failed', 'retry', '--all', '--dry-run']);
  expect(dry.out).toContain('1 job would be retried');
  poison.clear();
  expect(await json('failed', 'retry', '--reason', 'failed with Error')).toMatchObject({
    retried: 1,
  });
  await soon(async () => expect(await leads('e@x.example')).toHaveLength(1));
  const gone = await leadgate(['failed', 'discard', submissionId, '--reason', 'x']);
  expect(gone).toMatchObject({ status: 1 });
});

test('leads are exported without formulas, and pairs are listed until they are merged', async () => {
  const rows = [
    { email: 'f@x.example', name: '=HYPERLINK("http://evil")', utmSource: 'meta' },
    { telephone: '11987654321' },
    { email: 'f@x.example', telephone: '11987654321' },
  ];
  for (const [n, row] of rows.entries()) {
    writeFileSync(join(folder, `row${n}.ndjson`), JSON.stringify(row));
    await json('import', `row${n}.ndjson`, '--link', link.code);
  }
  const exported = (...more: string[]) =>
    leadgate(['lead', 'export', '--workspace', workspace, ...more]);
  await soon(async () => expect((await exported()).out.trim().split('\r\n')).toHaveLength(3));
  expect((await exported()).out).toContain(`"'=HYPERLINK(""http://evil"")"`);
  expect((await exported('--utm-source', 'meta', '--format', 'ndjson')).out).toMatch(/^\{.*\}\n$/);
  expect((await exported('--utm-source', 'other', '--format', 'ndjson')).out).toBe('');
  expect((await exported('--link', link.code, '--output', 'out.csv')).err).toContain('2 leads');
  expect(readFileSync(join(folder, 'out.csv'), 'utf8')).toContain('f@x.example');
  type Pair = { a: { leadId: string }; b: { leadId: string } };
  const pairs = () => json<Pair[]>('lead', 'duplicates', '--workspace', workspace);
  await soon(async () => expect(await pairs()).toHaveLength(1));
  const [pair] = await pairs();
  await json('lead', 'merge', pair?.a.leadId ?? '', pair?.b.leadId ?? '');
  expect(await pairs()).toEqual([]);
});

test('no list prints a telephone or a document, nor has one in its JSON; one person’s command has', async () => {
  const lead = {
    ...{ telephone: '5511912345678', document: '52998224725', city: 'Zenobia' },
    customFields: { cnpj: '11.222.333/0001-81' },
  };
  const { workspaceId } = link;
  const at = { workspaceId, linkId: link.id };
  const [one, two] = [randomUUID(), randomUUID()];
  const seeded = [
    { lead, leadId: one, identities: [{ key: 'phone:+5511912345678', owner: one }] },
    { lead: { ...lead, name: 'Zenobia' }, leadId: two, identities: [] },
    { lead, leadId: two, identities: [{ key: 'phone:+5511912345678', owner: one }] },
  ].map((sent, n) => sampleSubmission(700 + n, { ...at, ...sent, body: JSON.stringify(lead) }));
  for (const submission of seeded) await applyGroup(store, [{ submission, replay: false }]);
  const held = { reason: 'honeypot' as const, keys: [] };
  await saveHeld(store, [sampleSubmission(710, { ...at, lead, held })]);
  await refuse(JSON.stringify({ ...lead, birthday: '52998224725' }));
  const numbersIn = (text: string) =>
    ['912345678', '52998224725', '11222333000181'].filter((number) =>
      text.replaceAll(/[\s().+/-]/g, '').includes(number),
    );
  let walked = 0;
  for (const { name, personal } of await allOperations()) {
    // Of pages: a prompt filters what the lists print.
    if (personal !== 'list' || name === 'rejected.search') continue;
    const whom = name === 'lead.find' ? ['--name', 'Zenobia'] : [];
    const argv = [...name.split('.'), ...whom, '--workspace', workspace];
    const printed = await leadgate(argv);
    const { out } = await leadgate([...argv, '--json']);
    expect([name, printed.status, numbersIn(printed.out + out)]).toEqual([name, 0, []]);
    expect([name, (JSON.parse(out) as { length?: number }).length ?? 1]).not.toContain(0);
    walked += 1;
  }
  expect(walked).toBe(7);
  expect(numbersIn((await leadgate(['lead', 'changes', workspace])).out)).toEqual([]);
  expect(numbersIn((await leadgate(['lead', 'show', two])).out)).toHaveLength(2);
});

test('tail follows a link, masked unless it is told to show, and ends when it is told to', async () => {
  const stop = new AbortController();
  const follow = (...more: string[]) => leadgate(['tail', link.code, ...more], stop.signal);
  const out: string[] = [];
  const io = {
    out: (text: string) => void out.push(text),
    err: () => {},
    env: { DATABASE_URL: database.url, REDIS_URL: redisServer.url },
    cwd: folder,
    signal: stop.signal,
  };
  const tailing = run(['tail', link.code, '--json'], io);
  let n = 0;
  await soon(async () => {
    n += 1;
    writeFileSync(join(folder, 'tail.ndjson'), `{"email":"gloria${n}@x.example"}`);
    await json('import', 'tail.ndjson', '--link', link.code);
    await refuse('{"email":"secret@"}');
    expect(out.join('')).toContain('"kind":"submission"');
    expect(out.join('')).toContain('"kind":"rejected"');
  });
  stop.abort();
  expect(await tailing).toBe(0);
  expect(out.join('')).not.toMatch(/gloria|secret/);
  expect((await follow('--show')).status).toBe(0);
  expect(await listAudit(store, { action: 'tail', limit: 5 })).toMatchObject([
    { subject: { link: link.code } },
  ]);
});

test('doctor proposes that numbers which many people type identify nobody', async () => {
  const rows = Array.from({ length: 6 }, (_, i) => `nobody${i}@x.example,11999999999`);
  writeFileSync(join(folder, 'nobody.csv'), `email,phone\n${rows.join('\n')}\n`);
  await json('import', 'nobody.csv', '--link', link.code);
  await soon(async () => {
    const { out } = await leadgate(['doctor']);
    expect(out).toMatch(/warn +telephones/);
    expect(out).toContain('--dummy-class repeated');
    expect(out).not.toContain('999999');
  });
});

test('retention that goes further than a run may is shown by doctor, and allowed by a command', async () => {
  await store.prisma.retention.update({
    where: { subject: 'submission' },
    data: { horizon: new Date('2026-01-01'), wanted: new Date('2026-06-01') },
  });
  const { out: doctor } = await leadgate(['doctor']);
  expect(doctor).toContain('submission from before 2026-06-01T00:00:00.000Z would go');
  const { status, out } = await leadgate([
    ...['retention', 'allow', 'submissions', '--before', '2026-06-01'],
  ]);
  expect([status, out]).toEqual([0, expect.stringMatching(/submissions +2026-01-01.*2026-06-01/)]);
  expect(await json('retention', 'show')).toMatchObject([
    { subject: 'submission', allowed: '2026-06-01T00:00:00.000Z' },
    { subject: 'rejected_submission', allowed: null },
  ]);
  const { out: audit } = await leadgate(['audit']);
  expect(audit).toContain('retention.allow');
  await store.prisma.retention.update({
    where: { subject: 'submission' },
    data: { horizon: null, wanted: null, allowed: null },
  });
});

test('key rotate is on record once, and that ledger and series were looked at is not', async () => {
  const [before] = await listAudit(store, { limit: 1 });
  expect(await leadgate(['key', 'rotate'])).toMatchObject({ status: 0 });
  for (const command of ['ledger', 'series'])
    expect(await leadgate([command, '--workspace', workspace])).toMatchObject({ status: 0 });
  expect(await listAudit(store, { limit: 2 })).toMatchObject([
    { action: 'key.rotate', outcome: 'done' },
    { id: before?.id },
  ]);
});

test('a workspace says for how many days it keeps what, after it has seen what would go', async () => {
  const { workspaceId } = link;
  const erasable = openStore({
    ...{ url: database.url, poolSize: 1, erasureKey: erasureKeyOf(ERASURE_KEY) },
  });
  const identities = (n: number) => [
    { key: `email:kept${n}@x.example`, owner: sampleSubmission(n).leadId },
  ];
  for (const n of [720, 721])
    await applyGroup(erasable, [
      {
        submission: sampleSubmission(n, { workspaceId, identities: identities(n) }),
        replay: false,
      },
    ]);
  await erasable.close();
  await store.prisma.$executeRaw`UPDATE submission SET applied_at = now() - interval '31 days'
    WHERE id = ${sampleSubmission(720).id}::uuid`;
  await store.prisma.$executeRaw`UPDATE lead SET updated_at = now() - interval '31 days'
    WHERE id = ${sampleSubmission(720).leadId}::uuid`;
  const of = ['--workspace', workspace];
  const would = async (kind: string, days: number) =>
    (await leadgate(['retention', 'preview', kind, '--days', String(days), ...of])).out;
  for (const kind of ['leads', 'submissions']) {
    expect(await would(kind, 30)).toMatch(
      new RegExp(`^1 of ${kind} are older than .*Z, and would go`),
    );
    expect(await would(kind, 32)).toContain(`0 of ${kind}`);
    expect(await would(kind, 36_500)).toContain(`0 of ${kind}`);
  }
  for (const kind of ['rejected', 'consents']) expect(await would(kind, 1)).toContain('0 of');
  const set = (...argv: string[]) => leadgate(['retention', 'set', ...argv, ...of]);
  expect((await set('leads', '30')).out).toMatch(/^leads +30 +workspace/m);
  expect((await set('consents', '36500')).out).toMatch(/^consents +36500 +workspace/m);
  expect((await leadgate(['retention', 'show', ...of])).out).toMatch(/^leads +30 +workspace/m);
  expect((await set('leads', 'default')).out).toMatch(/^leads +for good +nobody/m);
  for (const wrong of [
    ...[
      ['leads', '0'],
      ['leads', '-1'],
      ['leads', '1.5'],
      ['leads', '36501'],
      ['leads', ''],
    ],
    ...[['leads', 'never'], ['people', '30'], ['leads']],
  ])
    expect([wrong, (await set(...wrong)).status]).toEqual([wrong, 2]);
  const days = ['--days', '36501'];
  expect(await leadgate(['retention', 'preview', 'leads', ...days, ...of])).toMatchObject({
    ...{ status: 2, err: expect.stringContaining('36500') as string },
  });
  const nowhere = await leadgate(['retention', 'show', '--workspace', 'nowhere']);
  expect([nowhere.status, nowhere.out]).toEqual([1, '']);
  expect(await json('retention', 'show', ...of)).toMatchObject([
    { kind: 'leads', days: null },
    { kind: 'submissions' },
    { kind: 'rejected' },
    { kind: 'consents', days: 36_500, by: 'workspace' },
  ]);
});

test('every command that is asked about an erased person ends with 4, and says when, why and by whom', async () => {
  const { workspaceId } = link;
  const [erased, kept] = [randomUUID(), randomUUID()];
  for (const [n, leadId] of [erased, kept].entries())
    await applyGroup(store, [
      {
        submission: sampleSubmission(730 + n, { workspaceId, leadId, identities: [] }),
        replay: false,
      },
    ]);
  await json('lead', 'erase', erased, '--reason', 'ticket 4711');
  for (const argv of [
    ...[
      ['lead', 'show', erased],
      ['lead', 'person', erased],
      ['lead', 'merge', kept, erased],
    ],
    ...[
      ['lead', 'merge', erased, kept],
      ['lead', 'split', erased, '--by', 'email'],
    ],
    ...[
      ['lead', 'duplicates', '--lead', erased],
      ['submission', 'list', '--lead', erased],
    ],
    ...[
      ['consent', 'withdraw', erased],
      ['consent', 'link', erased],
    ],
    ['replay', '--workspace', workspace, '--lead', erased],
  ]) {
    const { status, out, err } = await leadgate(argv);
    expect([argv, status, out]).toEqual([argv, 4, '']);
    expect(err).toMatch(/was erased: \d{4}-\d\d-\d\d \S+Z by .+: ticket 4711\./);
  }
  expect((await leadgate(['consent', 'list', erased])).status).toBe(0);
  expect((await leadgate(['reads', '--lead', erased])).status).toBe(0);
  expect(await json('lead', 'erase', erased, '--reason', 'ticket 4711')).toMatchObject({
    ...{ leadId: erased, counts: { leads: 0 } },
  });
});

test('what came is told over time and compared, and the books close', async () => {
  const rows = ['ana', 'bia'].map((name, n) =>
    JSON.stringify({
      ...{ email: `${name}.${workspace.slice(-8)}@x.example`, utmSource: 'meta' },
      ...{ utmMedium: 'cpc', utmCampaign: `black friday ${n}` },
    }),
  );
  writeFileSync(join(folder, 'campaigns.ndjson'), rows.join('\n'));
  await json('import', 'campaigns.ndjson', '--link', link.code);
  await soon(async () => {
    await addUpTallies(store);
    const series = await json<{ rows: object[] }>('series', '--link', link.code);
    expect(series.rows).toMatchObject([{ created: 2, updated: 0, refused: {} }]);
  });
  const by = (...args: string[]) =>
    json<{ zone: string; rows: { id: string; name: string[] }[] }>(
      ...['series', '--workspace', workspace, ...args],
    );
  for (const grain of ['minute', 'day'])
    expect((await by('--by', grain)).rows).toMatchObject([{ created: 2 }]);
  expect(await by('--by', 'day')).toMatchObject({ zone: 'America/Sao_Paulo' });
  expect((await by('--by', 'link')).rows).toMatchObject([
    { id: link.id, name: ['Landing'], created: 2 },
  ]);
  const campaigns = (await by('--by', 'campaign', '--from', '90d')).rows;
  expect(campaigns.map(({ name }) => name).toSorted()).toEqual([
    ['meta', 'cpc', 'black friday 0'],
    ['meta', 'cpc', 'black friday 1'],
  ]);
  const [source] = (await by('--by', 'source')).rows;
  expect((await by('--campaign', source?.id ?? '')).rows).toMatchObject([{ created: 2 }]);
  expect((await by('--by', 'code')).rows).toEqual([]);
  expect((await leadgate(['series', '--link', link.code, '--by', 'campaign'])).out).toContain(
    'meta / cpc / black friday',
  );
  expect((await leadgate(['series'])).status).toBe(2);
  expect(
    await leadgate(['series', '--link', link.code, '--by', 'minute', '--from', '9d']),
  ).toMatchObject({ status: 2 });

  const other = await json<{ id: string }>('workspace', 'create', `Other ${randomUUID()}`);
  expect((await leadgate(['series', '--workspace', other.id, '--link', link.code])).status).toBe(1);
  const books = await leadgate(['ledger', '--link', link.code]);
  expect(books).toMatchObject({ status: 0, err: '' });
  expect(books.out).toMatch(/Landing +0 +2 /);
  expect((await leadgate(['alarm', 'list', '--workspace', workspace])).out).toBe('No alarm.\n');
  expect((await leadgate(['link', 'quiet', link.code, '--until', '2d'])).out).toContain(
    'Quiet until',
  );
});

test('HubSpot by its flags: a token from a file, rules, rate; what waits for it is listed, shown and sent again; it goes by its name alone', async () => {
  const token = join(folder, 'token.txt');
  writeFileSync(token, 'pat-na1-secret\n');
  const hub = ['--kind', 'hubspot', '--token-file', token];
  const missing = await leadgate(['endpoint', 'create', workspace, 'hub', '--kind', 'hubspot']);
  expect(missing).toMatchObject({ status: 2, out: '' });
  expect(missing.err).toContain('access token of a private app');
  const rules = [
    '--rule',
    'email=$.email',
    '--rule',
    'lastname=$.name',
    '--rule',
    'lastname=$.city',
  ];
  const made = await json<{ id: string }>('endpoint', 'create', workspace, 'hub', ...hub, ...rules);
  expect(made).toMatchObject({
    ...{ kind: 'hubspot', url: 'https://api.hubapi.com', perSecond: 5, secret: null },
    mapping: { email: ['$.email'], lastname: ['$.name', '$.city'] },
  });
  expect(await json('endpoint', 'set', made.id, '--own-rules', '--rate', '0.5')).toMatchObject({
    ...{ mapping: null, perSecond: 0.5 },
  });
  const noEmail = await leadgate(['endpoint', 'set', made.id, '--rule', 'lastname=$.name']);
  expect(noEmail.err).toContain('Contacts are found by their email');
  const rotated = await leadgate(['endpoint', 'rotate', made.id]);
  expect(rotated.err).toContain('called with a token');
  const webhook = ['endpoint', 'create', workspace, 'crm', 'https://crm.example/hook'];
  expect((await leadgate([...webhook, '--token-file', token])).err).toContain('A webhook has none');

  const submission = sampleSubmission(1, {
    ...{ id: randomUUID(), workspaceId: link.workspaceId, linkId: link.id, leadId: randomUUID() },
    ...{ identities: [], lead: { email: 'ana@example.com' } },
  });
  await applyGroup(store, [{ submission, replay: false }]);
  const { leadId } = submission;
  const list = ['delivery', 'list', '--endpoint', made.id];
  expect(await json(...list, '--state', 'waiting')).toMatchObject([
    { leadId, state: 'waiting', event: 'lead.created', deliveredVersion: 0, attempts: 0 },
  ]);
  expect(await json(...list, '--state', 'set-aside')).toEqual([]);
  const text = await leadgate(['delivery', 'show', leadId, '--endpoint', made.id]);
  expect(text.out).toMatch(/State +waiting/);
  const again = ['delivery', 'resend', leadId, '--endpoint', made.id];
  expect(await json(...again)).toMatchObject({ resent: 1 });
  const unknown = await leadgate(['delivery', 'show', randomUUID(), '--endpoint', made.id]);
  expect(unknown).toMatchObject({ status: 1 });
  expect(unknown.err).toContain('never to be told');

  const remove = ['endpoint', 'remove', made.id];
  for (const wrong of [[], ['--confirm', 'crm']]) {
    const kept = await leadgate([...remove, ...wrong]);
    expect(kept).toMatchObject({ status: 2, out: '' });
    expect(kept.err).toContain('its name, "hub"');
  }
  expect(await json(...list)).toHaveLength(1);
  expect(await json(...remove, '--confirm', 'hub')).toEqual({ removed: made.id });
});
