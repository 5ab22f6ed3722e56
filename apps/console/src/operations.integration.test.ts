import { queueCounts } from '@leadgate/queue';
import { applyGroup, listAudit, saveRejected } from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { consoleUnderTest, type Ask, type ConsoleUnderTest } from '../test/console.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let console_: ConsoleUnderTest;
let operator: Ask;
let viewer: Ask;
let workspaceId: string;
let linkId: string;

beforeAll(async () => {
  database = await testDatabase();
  const redis = await testRedis();
  console_ = await consoleUnderTest({ databaseUrl: database.url, redisUrl: redis.url });
  [operator, viewer] = await Promise.all([
    console_.withToken('operator'),
    console_.withToken('viewer'),
  ]);
  const workspace = await operator('POST', '/api/workspaces', { payload: { name: 'Agency' } });
  workspaceId = workspace.json<{ id: string }>().id;
  const url = `/api/workspaces/${workspaceId}/links`;
  const link = await operator('POST', url, { payload: { label: 'Landing page' } });
  linkId = link.json<{ id: string }>().id;
});

afterAll(async () => {
  await console_.close();
  await database.drop();
});

const waiting = async () => (await queueCounts(console_.redis)).waiting;

interface Line {
  result?: { rows: number; imported: number; refused: number; known: number };
  refused?: { row: number };
  error?: string;
}
async function bring(payload: string, query = ''): Promise<Line[]> {
  const answer = await operator('POST', `/api/imports?linkId=${linkId}${query}`, {
    payload,
    headers: { 'content-type': 'text/csv' },
  });
  expect([answer.statusCode, answer.headers['content-type']]).toEqual([
    200,
    'application/x-ndjson',
  ]);
  return answer.body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}

test('how a file would be read is said before anything of it is taken, and to no viewer', async () => {
  const url = `/api/imports/preview?linkId=${linkId}`;
  const payload = Buffer.from('Nome;E-mail;Cor\nJosé;a@example.com;azul\nX;not one;\n', 'latin1');
  const asked = { payload, headers: { 'content-type': 'text/csv' } };
  const before = await waiting();
  expect((await operator('POST', url, asked)).json()).toMatchObject({
    ...{ format: 'csv', encoding: 'windows-1252', delimiter: ';', sheet: null, times: null },
    columns: [
      { name: 'Nome', target: 'name' },
      { name: 'E-mail', target: 'email' },
      { name: 'Cor', target: '-' },
    ],
    rows: [
      { number: 1, cells: ['José', 'a@example.com', 'azul'], errors: [] },
      { number: 2, cells: ['X', 'not one', ''], errors: [{ pointer: '/email' }] },
    ],
  });
  const mapped = await operator('POST', `${url}&map=Cor%3Dprofession`, asked);
  expect(mapped.json()).toMatchObject({ columns: [{}, {}, { target: 'profession' }] });
  expect(await waiting()).toBe(before);
  expect((await viewer('POST', url, asked)).statusCode).toBe(403);
});

test('a link is made, shown, closed and opened', async () => {
  const shown = await operator('GET', `/api/links/${linkId}`);
  expect(shown.json()).toMatchObject({ status: 'open', label: 'Landing page' });
  expect(shown.json<{ captureUrl: string }>().captureUrl).toMatch(
    /^https:\/\/leads.example.com\/ingest\//,
  );
  const closed = await operator('POST', `/api/links/${linkId}/disable`);
  expect(closed.json()).toMatchObject({ status: 'disabled' });
  const opened = await operator('POST', `/api/links/${linkId}/enable`);
  expect(opened.json()).toMatchObject({ status: 'open' });
  const rotated = await operator('POST', `/api/links/${linkId}/rotate`, { payload: {} });
  expect(rotated.json<{ codes: unknown[] }>().codes).toHaveLength(2);
});

test('a workspace says which telephones identify nobody, and its links carry it', async () => {
  const url = `/api/workspaces/${workspaceId}`;
  const rules = { dummyPhones: ['+5511912345678'], dummyClasses: ['repeated'] };
  const set = await operator('PATCH', url, {
    payload: { ...rules, dummyPhones: ['(11) 91234-5678'] },
  });
  expect(set.json()).toMatchObject({ id: workspaceId, ...rules });
  const [code] = (await operator('GET', `/api/links/${linkId}`)).json<{
    codes: { code: string }[];
  }>().codes;
  const entry = await console_.redis.hget('leadgate:{links}:entries', code?.code ?? '');
  expect(JSON.parse(entry ?? '{}')).toMatchObject(rules);
  const odd = await operator('PATCH', url, { payload: { dummyClasses: ['odd'] } });
  expect(odd.statusCode).toBe(422);
  const wrong = await operator('PATCH', url, { payload: { dummyPhones: ['123'] } });
  expect(wrong.json()).toMatchObject({ errors: [{ pointer: '/dummyPhones/0' }] });
  expect((await viewer('PATCH', url, { payload: rules })).statusCode).toBe(403);
  const unknown = `/api/workspaces/${randomUUID()}`;
  expect((await operator('PATCH', unknown, { payload: rules })).statusCode).toBe(404);
});

test('what a link holds posts back by is set with it and later, and its secret is not shown', async () => {
  const captcha = { verifyUrl: 'https://captcha.example/verify', secret: 'shh-secret' };
  const made = await operator('POST', `/api/workspaces/${workspaceId}/links`, {
    payload: { label: 'Guarded', guard: { honeypot: 'website', minFillSeconds: 2.5, captcha } },
  });
  expect(made.json()).toMatchObject({
    guard: { honeypot: 'website', minFillSeconds: 2.5, captcha: { fail: 'open' } },
  });
  const { id } = made.json<{ id: string }>();
  const set = await operator('PATCH', `/api/links/${id}`, {
    payload: { mode: 'lenient', guard: { honeypot: null, captcha: { fail: 'closed' } } },
  });
  expect(set.json()).toMatchObject({
    ...{ label: 'Guarded', mode: 'lenient' },
    guard: { honeypot: null, minFillSeconds: 2.5, captcha: { fail: 'closed' } },
  });
  for (const { body } of [made, set, await viewer('GET', '/api/links')])
    expect(body).not.toContain('shh-secret');
  const wrong = await operator('PATCH', `/api/links/${id}`, {
    payload: { guard: { honeypot: 'email' } },
  });
  expect(wrong.statusCode).toBe(422);
});

test('a file is imported as it is sent, refused rows are told, and twice changes nothing', async () => {
  const csv = 'name,email\nAna,ana@example.com\nBia,not an email\nCaio,caio@example.com\n';
  const first = await bring(csv);
  expect(first.at(-1)?.result).toMatchObject({ rows: 3, imported: 2, refused: 1 });
  expect(first.find(({ refused }) => refused !== undefined)?.refused).toMatchObject({ row: 2 });
  expect(await waiting()).toBe(2);
  expect((await bring(csv, '&encoding=klingon')).at(-1)?.error).toContain('klingon');
  expect((await bring(csv)).at(-1)?.result).toMatchObject({ rows: 3, refused: 1 });
  // No worker has taken them yet: they stand once more, under the same ids, and are applied once.
  expect(await waiting()).toBe(4);
  const imports = (await listAudit(console_.store, { limit: 20 })).filter(
    ({ action }) => action === 'import',
  );
  expect(imports[0]).toMatchObject({ subject: { linkId }, outcome: 'done' });
});

test('a program reads what changed by a cursor, which is on record when it begins', async () => {
  const made = await operator('POST', '/api/workspaces', { payload: { name: 'Changes' } });
  const { id } = made.json<{ id: string }>();
  const leadId = randomUUID();
  const submission = { ...sampleSubmission(7), workspaceId: id, leadId, lead: { name: 'Ana' } };
  const own = { ...submission, identities: [] };
  await applyGroup(console_.store, [{ submission: own, replay: false }]);
  const url = `/api/workspaces/${id}/changes`;
  const first = (await operator('GET', `${url}?limit=10`)).json<{ cursor: string }>();
  expect(first).toMatchObject({
    changes: [{ kind: 'lead', leadId, version: 1, data: { name: 'Ana' } }],
    ...{ more: true, restarted: false },
  });
  const next = await operator('GET', `${url}?after=${first.cursor}`);
  expect(next.json()).toMatchObject({ changes: [], more: false });
  const entries = await listAudit(console_.store, { limit: 5 });
  expect(entries.filter(({ action }) => action === 'lead.changes')).toMatchObject([
    { subject: { workspaceId: id }, outcome: 'done' },
  ]);
  expect((await operator('GET', `${url}?after=x`)).statusCode).toBe(422);
  expect((await viewer('GET', url)).statusCode).toBe(403);
});

test('an import is looked at while it is sent, and what it refused is a file to be mended', async () => {
  const importId = randomUUID();
  await bring('email,name\nnot one,Dora\nlast@example.com,Last\n', `&importId=${importId}`);
  const run = (await viewer('GET', `/api/runs/${importId}`)).json<object>();
  expect(run).toMatchObject({
    ...{ kind: 'import', state: 'done', parameters: { linkId }, file: 'refused.csv' },
    progress: { rows: 2, imported: 1, refused: 1 },
  });
  expect((await viewer('GET', '/api/runs')).json<object[]>()[0]).toEqual(run);
  expect((await viewer('GET', `/api/imports/${importId}/refused`)).statusCode).toBe(403);
  const file = await operator('GET', `/api/imports/${importId}/refused`);
  expect(file.body).toContain('"not one","Dora","row 1: /email');
  const [entry] = await listAudit(console_.store, { limit: 1 });
  expect(entry).toMatchObject({ action: 'run.refused', subject: { runId: importId } });
  const again = await operator('POST', `/api/imports?linkId=${linkId}&importId=${importId}`, {
    payload: 'email\n',
    headers: { 'content-type': 'text/csv' },
  });
  expect(again.statusCode).toBe(409);
  expect((await operator('POST', `/api/runs/${randomUUID()}/stop`)).statusCode).toBe(404);
});

test('a file that cannot be read is not left in the way of the next request on its connection', async () => {
  const base = await console_.app.listen({ host: '127.0.0.1', port: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const cookie = `leadgate=${await console_.sessionOf('Ines', 'operator')}`;
  const ask = (method: string, path: string, body?: string) =>
    new Promise<string>((resolve, reject) => {
      const headers = { cookie, 'sec-fetch-site': 'same-origin', 'content-type': 'text/csv' };
      request(base + path, { agent, method, headers }, (answer) => {
        textOf(answer).then(resolve, reject);
      })
        .on('error', reject)
        .end(body);
    });
  const file = `${'c,'.repeat(5_000)}\n${'x'.repeat(4_000_000)}`;
  for (let turn = 0; turn < 2; turn++) {
    const answer = await ask('POST', `/api/imports?linkId=${linkId}&dryRun=true`, file);
    expect(answer).toContain('5001 columns');
    expect(JSON.parse(await ask('GET', '/api/me'))).toMatchObject({ name: 'Ines' });
  }
  agent.destroy();
});

test('an import is stopped by whoever sees it', async () => {
  const importId = randomUUID();
  const rows = Array.from({ length: 1_000 }, (_, n) => `stop${n}@example.com`);
  const sent = bring(`email\n${rows.join('\n')}`, `&importId=${importId}&perSecond=20`);
  await vi.waitFor(async () =>
    expect((await operator('POST', `/api/runs/${importId}/stop`)).statusCode).toBe(200),
  );
  await sent.catch(() => null);
  const shown = (await viewer('GET', `/api/runs/${importId}`)).json<{
    progress: { imported: number };
  }>();
  expect(shown).toMatchObject({ state: 'stopped' });
  expect(shown.progress.imported).toBeLessThan(1_000);
});

test('leads are exported to operators, on record, and to no viewer', async () => {
  const submission = sampleSubmission(1, { workspaceId, linkId });
  await applyGroup(console_.store, [{ submission, replay: false }]);
  const url = `/api/workspaces/${workspaceId}/leads/export`;
  const csv = await operator('POST', url, { payload: { format: 'csv' } });
  expect(csv.headers['content-type']).toContain('text/csv');
  expect(csv.body).toContain('maria.silva.1@example.com');
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const ofForm = async (payload: string) =>
    (await operator('POST', url, { headers, payload })).body;
  expect(await ofForm('format=csv&email=true')).toBe(csv.body);
  expect(await ofForm('format=ndjson&email=false')).toBe('');
  const ndjson = await operator('POST', url, {
    payload: { format: 'ndjson', utmSource: 'nowhere' },
  });
  expect(ndjson.body).toBe('');
  expect((await viewer('POST', url, { payload: {} })).statusCode).toBe(403);
  const [refused, entry] = await listAudit(console_.store, { limit: 2 });
  expect(refused).toMatchObject({ action: 'lead.export', outcome: 'refused' });
  expect(entry).toMatchObject({ action: 'lead.export', subject: { workspaceId }, outcome: 'done' });
});

test('lists are sent packed to who takes that, and what shows persons is not: its length would tell of them', async () => {
  const submissions = Array.from({ length: 4 }, (_, n) =>
    sampleSubmission(40 + n, { workspaceId, linkId }),
  );
  await applyGroup(
    console_.store,
    submissions.map((submission) => ({ submission, replay: false })),
  );
  const label = 'A landing page. '.repeat(10);
  for (let n = 0; n < 5; n += 1)
    await operator('POST', `/api/workspaces/${workspaceId}/links`, { payload: { label } });
  const read = async (url: string, encodings?: string) => {
    const headers = encodings === undefined ? {} : { 'accept-encoding': encodings };
    const answer = await operator('GET', url, { headers });
    expect(answer.statusCode).toBe(200);
    return { encoding: answer.headers['content-encoding'], bytes: answer.rawPayload };
  };
  const links = `/api/links?workspaceId=${workspaceId}`;
  const plain = await read(links);
  expect(plain.encoding).toBeUndefined();
  for (const [encoding, unpack] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const packed = await read(links, `${encoding}, deflate`);
    expect(packed.encoding).toBe(encoding);
    expect(unpack(packed.bytes).equals(plain.bytes)).toBe(true);
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2);
  }
  const persons = await read(`/api/submissions?workspaceId=${workspaceId}`, 'br, gzip');
  expect(persons.bytes.length).toBeGreaterThan(1_024);
  expect(persons.encoding).toBeUndefined();
});

test('two leads are merged, and the id of the other stands for the one', async () => {
  const [first, second] = [10, 11].map((n) => sampleSubmission(n, { workspaceId, linkId }));
  if (first === undefined || second === undefined) throw new Error('no samples');
  await applyGroup(
    console_.store,
    [first, second].map((submission) => ({ submission, replay: false })),
  );
  const url = `/api/workspaces/${workspaceId}/leads/${first.leadId}/merge/${second.leadId}`;
  expect((await operator('POST', url)).json()).toEqual({ leadId: first.leadId, merged: true });
  expect((await operator('POST', url)).json()).toEqual({ leadId: first.leadId, merged: false });
  const shown = await operator('GET', `/api/leads/${second.leadId}`);
  expect(shown.json()).toMatchObject({ leadId: first.leadId, aliases: [second.leadId] });
  expect((await operator('GET', '/api/duplicates')).json()).toEqual([]);
  expect((await operator('GET', '/api/duplicates?after=x')).statusCode).toBe(400);
});

test('a replay says how many first, and enqueues them under a job of their own', async () => {
  const before = await waiting();
  const url = `/api/workspaces/${workspaceId}/replays`;
  const dry = await operator('POST', url, { payload: { linkId, dryRun: true } });
  const { submissions, leads } = dry.json<{ submissions: number; leads: number }>();
  expect(leads).toBe(0);
  expect(submissions).toBeGreaterThan(0);
  expect(await waiting()).toBe(before);
  const begun = await operator('POST', url, { payload: { linkId } });
  const { id } = begun.json<{ id: string }>();
  await vi.waitFor(async () =>
    expect((await viewer('GET', `/api/runs/${id}`)).json()).toMatchObject({
      ...{ kind: 'replay', state: 'done', progress: { enqueued: submissions } },
    }),
  );
  expect((await operator('POST', `/api/runs/${id}/resume`)).statusCode).toBe(409);
  const [entry] = (await listAudit(console_.store, { limit: 5 })).filter(
    ({ action }) => action === 'submission.replay',
  );
  expect(entry).toMatchObject({ subject: { workspaceId, linkId }, outcome: 'done' });
});

test('a refused body is mended and replayed', async () => {
  const { id, stamp } = sampleSubmission(50);
  await saveRejected(console_.store, [
    {
      id,
      workspaceId,
      linkId,
      stamp,
      code: 'invalid-lead',
      errors: [{ pointer: '/email', code: 'email', detail: 'Not an email.' }],
      body: '{"email":"dora@","name":"Dora"}',
      bodyType: 'json',
    },
  ]);
  const refused = await operator('POST', `/api/rejected/${id}/replay`, { payload: {} });
  expect(refused.statusCode).toBe(422);
  expect(refused.body).toContain('/email');
  const mended = await operator('POST', `/api/rejected/${id}/mend`, {
    payload: { set: { email: 'dora@example.com' } },
  });
  expect(mended.json()).toMatchObject({ errors: [] });
  const replayed = await operator('POST', `/api/rejected/${id}/replay`, { payload: {} });
  expect(replayed.json()).toMatchObject({ outcome: 'accepted' });
  const listed = await viewer('GET', '/api/rejected?replayed=true');
  expect(listed.body).toContain(id);
  expect(listed.body).not.toContain('dora');
});
