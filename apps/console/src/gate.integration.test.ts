import { randomUUID } from 'node:crypto';
import { reaches } from '@leadgate/contract';
import { allOperations } from '@leadgate/operations';
import {
  addOperator,
  applyGroup,
  beginRun,
  findSession,
  issueFirstCode,
  listAudit,
  removeOperator,
  saveHeld,
  saveRejected,
} from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Ask,
  consoleUnderTest,
  type ConsoleUnderTest,
  FROM_A_PAGE,
  PASSWORD,
  postForm,
} from '../test/console.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let console_: ConsoleUnderTest;
let operator: Ask;
let viewer: Ask;
let operatorToken: Ask;
let viewerToken: Ask;
let administrator: Ask;

const OPEN = new Set([
  ...['GET /live', 'GET /ready', 'GET /sign-in', 'POST /sign-in', 'POST /sign-in/key'],
  ...['GET /assets/*', 'HEAD /assets/*'],
]);
const ID = '0d5b6b44-6a3e-4a55-9b4d-6a8c1f1d0a01';

beforeAll(async () => {
  database = await testDatabase();
  const redis = await testRedis();
  console_ = await consoleUnderTest({ databaseUrl: database.url, redisUrl: redis.url });
});

afterAll(async () => {
  await console_.close();
  await database.drop();
});

/** Every route, and addresses that are none. */
function addresses(): { method: string; url: string; name: string }[] {
  const routes = console_.routes
    .filter(({ method, url }) => method !== 'HEAD' && !OPEN.has(`${method} ${url}`))
    .map(({ method, url }) => ({ method, url: url.replace(/:\w+/g, ID).replace('*', 'x') }));
  const none = [
    '/nothing',
    '/api/nothing',
    '/queues/nothing/at/all',
    '/queues/static/../x',
    '/api',
  ];
  return [...routes, ...none.map((url) => ({ method: 'GET', url }))].map((one) => ({
    ...one,
    name: `${one.method} ${one.url}`,
  }));
}

/** What looks by a body, so that no address holds it, and changes nothing. */
const looks = (url: string) => lists(url) || /^\/api\/(leads\/search|links\/[^/]+\/try)$/.test(url);

/** What lists by a body as others by a GET: who read data of people is on record elsewhere. */
const lists = (url: string) => /^\/api\/workspaces\/[^/]+\/leads\/search$/.test(url);

/** What anybody who is signed in may do: to themselves. */
const isOwn = (url: string) => /^\/api\/me\b/.test(url);

const codeOf = (body: string) => (JSON.parse(body) as { code: string }).code;
const method = (text: string) => text as Parameters<Ask>[0];

test('before anybody was added, the one-time code makes the first operator, once', async () => {
  const issued = await issueFirstCode(console_.store);
  if (issued.kind !== 'issued') throw new Error(issued.kind);
  expect((await console_.ask('GET', '/sign-in')).body).toContain('>{"first":true}<');
  const form = { name: 'Ana', password: PASSWORD, code: issued.code };
  const answer = await postForm(console_.ask, '/sign-in', form, FROM_A_PAGE);
  expect(answer.statusCode).toBe(303);
  const again = await postForm(console_.ask, '/sign-in', { ...form, name: 'Eve' }, FROM_A_PAGE);
  expect(again.statusCode).toBe(401);
  expect((await console_.ask('GET', '/sign-in')).body).toContain('>{"first":false}<');
  const log = console_.log.join('');
  expect(log).not.toContain(PASSWORD);
  expect(log).not.toContain(issued.code);
  await addOperator(console_.store, {
    name: 'Pia',
    password: PASSWORD,
    role: 'operator',
    workspaceId: null,
  });
  [operator, viewer, operatorToken, viewerToken, administrator] = await Promise.all([
    console_.signIn('Olga', 'operator'),
    console_.signIn('Vera', 'viewer'),
    console_.withToken('operator'),
    console_.withToken('viewer'),
    console_.withToken('administrator'),
  ]);
}, 60_000);

test('no address answers without signing in, whether there is a route or not', async () => {
  const all = addresses();
  expect(all.length).toBeGreaterThan(50);
  for (const one of all) {
    for (const headers of [{}, { authorization: 'Bearer lg_wrong' }, { cookie: 'leadgate=x.y' }]) {
      const { statusCode, body } = await console_.ask(method(one.method), one.url, { headers });
      expect([one.name, statusCode, codeOf(body)]).toEqual([one.name, 401, 'not-signed-in']);
    }
  }
});

test('a browser without a session is led to the sign-in page', async () => {
  const answer = await console_.ask('GET', '/leads', { headers: { accept: 'text/html' } });
  expect(answer.statusCode).toBe(303);
  expect(answer.headers.location).toBe('/sign-in');
});

test('a viewer looks, and acts nowhere', async () => {
  for (const ask of [viewer, viewerToken]) {
    for (const one of addresses().filter(({ method }) => method !== 'GET')) {
      if (one.url === '/sign-out' || isOwn(one.url) || looks(one.url)) continue;
      const { statusCode } = await ask(method(one.method), one.url);
      expect([one.name, statusCode]).toEqual([one.name, 403]);
    }
    for (const url of ['/api/audit', '/api/operators', '/api/tokens'])
      expect((await ask('GET', url)).statusCode).toBe(403);
    for (const url of ['/', '/leads', '/links', '/queues', '/metrics', '/api/me', '/api/queue'])
      expect([url, (await ask('GET', url)).statusCode]).toEqual([url, 200]);
  }
});

test('what a page of another site makes a browser send is refused, whatever it is', async () => {
  const forged: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'same-site', origin: 'https://sister.example' },
    { 'sec-fetch-site': 'none' },
    { origin: 'https://evil.example', 'sec-fetch-site': '' },
    { origin: 'null', 'sec-fetch-site': '' },
  ];
  for (const headers of forged)
    for (const one of addresses().filter(({ method }) => method !== 'GET')) {
      const { statusCode, body } = await operator(method(one.method), one.url, { headers });
      expect([one.name, statusCode, codeOf(body)]).toEqual([one.name, 403, 'cross-site']);
    }
  const signIn = await postForm(
    console_.ask,
    '/sign-in',
    { name: 'Pia', password: PASSWORD },
    { 'sec-fetch-site': 'cross-site' },
  );
  expect(signIn.statusCode).toBe(403);
});

test('a browser that knows no Sec-Fetch-Site is believed by its Origin, and by nothing less', async () => {
  const cookie = (await operator('GET', '/')).raw.req.headers.cookie ?? '';
  const ask = (headers: Record<string, string>) =>
    console_.ask('POST', '/api/queue/resume', {
      headers: { host: 'console.test', cookie, ...headers },
    });
  expect((await ask({ origin: 'https://console.test' })).statusCode).toBe(200);
  expect((await ask({ origin: 'https://other.test' })).statusCode).toBe(403);
  expect((await ask({})).statusCode).toBe(403);
});

test('the session cookie is out of reach of scripts and other sites, and of plain http behind a proxy', async () => {
  const form = { name: 'Pia', password: PASSWORD };
  const plain = await postForm(console_.ask, '/sign-in', form, FROM_A_PAGE);
  expect([plain.headers['set-cookie']].flat()[0]).toMatch(
    /^leadgate=.+; Path=\/; .*HttpOnly; SameSite=Strict$/,
  );
  const secure = await postForm(console_.ask, '/sign-in', form, {
    ...FROM_A_PAGE,
    'x-forwarded-proto': 'https',
  });
  expect([secure.headers['set-cookie']].flat()[0]).toMatch(
    /^__Host-leadgate=.+HttpOnly; Secure; SameSite=Strict/,
  );
});

test('the browser that signed in is known again, for that name and by a cookie of ours only', async () => {
  await addOperator(console_.store, {
    name: 'Rita',
    password: PASSWORD,
    role: 'operator',
    workspaceId: null,
  });
  const form = { name: 'Rita', password: PASSWORD };
  const signedIn = await postForm(console_.ask, '/sign-in', form, FROM_A_PAGE);
  const cookies = [signedIn.headers['set-cookie']].flat().map((cookie) => String(cookie));
  const device = cookies.find((cookie) => cookie.startsWith('leadgate-device=')) ?? '';
  expect(device).toMatch(/Max-Age=31536000; .*HttpOnly; SameSite=Strict$/);
  const from = (address: string, cookie = '') => ({
    ...FROM_A_PAGE,
    'x-forwarded-for': address,
    cookie,
  });
  for (let n = 0; n < 8; n++)
    await postForm(console_.ask, '/sign-in', { ...form, password: 'wrong' }, from('203.0.113.61'));
  const known = device.split(';')[0] ?? '';
  const enter = async (name: string, cookie: string) =>
    (await postForm(console_.ask, '/sign-in', { ...form, name }, from('203.0.113.61', cookie)))
      .statusCode;
  expect(await enter('Rita', '')).toBe(429);
  expect(await enter('Rita', known.replace(/.$/, 'x'))).toBe(429);
  expect(await enter('Olga', known)).toBe(429);
  expect(await enter('Rita', known)).toBe(303);
});

test('a cookie that we did not sign is no session, though its token is right', async () => {
  const cookie = (await operator('GET', '/')).raw.req.headers.cookie ?? '';
  const [token = ''] = decodeURIComponent(cookie.replace('leadgate=', '')).split('.');
  expect(await findSession(console_.store, token)).toMatchObject({ operator: { name: 'Olga' } });
  for (const forged of [token, `${token}.`, `${token}.c2lnbmF0dXJl`]) {
    const answer = await console_.ask('GET', '/api/me', {
      headers: { cookie: `leadgate=${forged}` },
    });
    expect(answer.statusCode).toBe(401);
  }
});

test('signing out ends the session, not the cookie alone', async () => {
  const ask = await console_.signIn('Otto', 'operator');
  expect((await ask('POST', '/sign-out')).statusCode).toBe(303);
  expect((await ask('GET', '/api/me')).statusCode).toBe(401);
});

test('a removed operator is out at once', async () => {
  const ask = await console_.signIn('Rui', 'operator');
  expect((await ask('GET', '/api/me')).statusCode).toBe(200);
  await removeOperator(console_.store, 'Rui');
  expect((await ask('GET', '/api/me')).statusCode).toBe(401);
});

test('wrong passwords and unknown names are answered alike, and slowed after a few', async () => {
  const address = { ...FROM_A_PAGE, 'x-forwarded-for': '203.0.113.50' };
  const tries = ['Pia', 'nobody', 'nobody', 'nobody', 'nobody', 'nobody'];
  const answers = [];
  for (const name of tries)
    answers.push(await postForm(console_.ask, '/sign-in', { name, password: 'wrong' }, address));
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([401, 401, 401, 401, 401, 429]);
  expect(answers[0]?.body).toBe(answers[1]?.body);
  expect(Number(answers[5]?.headers['retry-after'])).toBeGreaterThan(0);
  const right = await postForm(
    console_.ask,
    '/sign-in',
    { name: 'Pia', password: PASSWORD },
    address,
  );
  expect(right.statusCode).toBe(429);
});

test('a token is shown once, names who acts, and is dead once revoked', async () => {
  const created = await administrator('POST', '/api/tokens', {
    payload: { name: 'reports', role: 'viewer' },
  });
  expect(created.statusCode).toBe(201);
  const { secret } = created.json<{ secret: string }>();
  const listed = await administrator('GET', '/api/tokens');
  expect(listed.body).toContain('reports');
  expect(listed.body).not.toContain(secret.slice(3));
  const headers = { authorization: `Bearer ${secret}` };
  const me = await console_.ask('GET', '/api/me', { headers });
  expect(me.json()).toEqual({
    ...{ kind: 'token', name: 'reports', role: 'viewer', workspaces: [] },
  });
  expect((await administrator('DELETE', '/api/tokens/reports')).statusCode).toBe(200);
  expect((await console_.ask('GET', '/api/me', { headers })).statusCode).toBe(401);
  expect(console_.log.join('')).not.toContain(secret);
});

test('an operator chooses nobody, and reads no audit log: that is for administrators', async () => {
  for (const [verb, url] of [
    ['GET', '/api/operators'],
    ['GET', '/api/tokens'],
    ['GET', '/api/audit'],
    ['POST', '/api/tokens'],
    ['DELETE', '/api/operators/Olga'],
  ] as const)
    for (const ask of [operator, operatorToken])
      expect([url, (await ask(verb, url)).statusCode]).toEqual([url, 403]);
  const [entry] = await listAudit(console_.store, { limit: 1 });
  expect(entry).toMatchObject({ action: 'operator.remove', outcome: 'refused' });
});

/** Something of every kind in a workspace, by the member of an address that names it. */
async function makeWorkspace(workspaceId: string): Promise<Record<string, string>> {
  const { store } = console_;
  const made = async (url: string, payload: object) =>
    (await administrator('POST', `/api/workspaces/${workspaceId}${url}`, { payload })).json<{
      id: string;
    }>().id;
  const linkId = await made('/links', { label: 'Theirs' });
  const stamp = Date.now() * 1_000;
  const [submissionId, heldId, rejectedId, runId] = [uuidv7(), uuidv7(), uuidv7(), randomUUID()];
  const submission = sampleSubmission(7, {
    ...{ id: submissionId, workspaceId, linkId, order: stamp, stamp },
    lead: { email: 'kept.from.others@example.com', name: 'Kept from others' },
  });
  await applyGroup(store, [{ submission, replay: false }]);
  const held = { reason: 'honeypot' as const, keys: [] };
  await saveHeld(store, [sampleSubmission(8, { id: heldId, workspaceId, linkId, stamp, held })]);
  await saveRejected(store, [
    {
      ...{ id: rejectedId, workspaceId, linkId, stamp, code: 'invalid-lead', errors: [] },
      ...{ body: '{"email":"kept.from.others@"}', bodyType: 'json' as const },
    },
  ]);
  await beginRun(store, {
    ...{ id: runId, workspaceId, kind: 'replay', parameters: {}, runner: randomUUID() },
    begunBy: { kind: 'token', name: 'tests' },
  });
  return {
    ...{ workspaceId, linkId, submissionId, heldId, rejectedId, runId },
    leadId: submission.leadId,
    fieldId: await made('/fields', { name: 'plan', label: 'Plan', type: 'text' }),
    endpointId: await made('/endpoints', { name: 'CRM', url: 'https://crm.example/hook' }),
    jobId: ID,
  };
}

/** Every route of the API as its document has it, with its operation if it is one. */
async function documented() {
  const { paths } = (await administrator('GET', '/api/openapi.json')).json<{
    paths: Record<
      string,
      Record<string, { operationId: string; parameters?: { in: string; name: string }[] }>
    >;
  }>();
  const operations = new Map((await allOperations()).map((one) => [one.id, one]));
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([verb, { operationId, parameters = [] }]) => ({
      name: operationId,
      verb: method(verb.toUpperCase()),
      path,
      queried: parameters.filter((one) => one.in === 'query').map((one) => one.name),
      operation: operations.get(operationId) ?? null,
    })),
  );
}

test('who has a workspace only learns nothing of another one, by no route of the API', async () => {
  const create = async (name: string) =>
    (await administrator('POST', '/api/workspaces', { payload: { name } })).json<{ id: string }>()
      .id;
  const [own, foreign] = [await create('Own'), await create('Foreign')];
  const theirs = await makeWorkspace(foreign);
  const asks = await Promise.all(
    (['viewer', 'operator', 'administrator'] as const).map((role) => console_.withToken(role, own)),
  );
  const routes = await documented();
  expect(routes.length).toBeGreaterThan(90);
  const noOperations = routes.filter(({ operation }) => operation === null);
  expect(noOperations.map(({ name }) => name).toSorted()).toEqual([
    ...['importLeads', 'previewImport', 'tail'],
  ]);
  for (const ask of asks) {
    const listed = (await ask('GET', '/api/workspaces')).json<{ id: string }[]>();
    expect(listed.map(({ id }) => id)).toEqual([own]);
    for (const { name, verb, path, queried, operation } of routes) {
      if (operation?.scope === 'own') continue;
      const address = path.replace(/\{(\w+)\}/g, (_, member: string) => theirs[member] ?? ID);
      const query = queried.flatMap((member) =>
        theirs[member] ? [`${member}=${theirs[member]}`] : [],
      );
      const { statusCode, body } = await ask(verb, `${address}?${query.join('&')}`, {
        ...(verb === 'POST' && { payload: { workspaceId: foreign } }),
        ...(verb === 'PATCH' && { payload: {} }),
      });
      // 400, 422: the request is looked at before what it names.
      expect([name, statusCode]).toEqual([name, expect.toBeOneOf([400, 403, 404, 415, 422])]);
      expect([name, body]).not.toEqual([name, expect.stringMatching(/kept.from.others/i)]);
    }
    // What is no operation yet needs a role for all workspaces.
    for (const url of ['/queues', '/api/leads', '/api/queue', '/api/tail'])
      expect([url, (await ask('GET', url)).statusCode]).toEqual([url, 403]);
    // Holds no data: it shows what the API answers them.
    for (const url of ['/', '/leads'])
      expect([url, (await ask('GET', url)).statusCode]).toEqual([url, 200]);
  }
  const set = (ask: Ask) =>
    ask('PATCH', `/api/workspaces/${own}`, { payload: { dummyClasses: ['repeated'] } });
  expect(await Promise.all(asks.map(async (ask) => (await set(ask)).statusCode))).toEqual([
    ...[403, 200, 200],
  ]);
  const { linkId } = await makeWorkspace(own);
  const csv = { payload: 'email\nrow@example.com\n', headers: { 'content-type': 'text/csv' } };
  const imported = await Promise.all(
    asks.map(async (ask) => (await ask('POST', `/api/imports?linkId=${linkId}`, csv)).statusCode),
  );
  expect(imported).toEqual([403, 200, 200]);
}, 120_000);

test('every route of the API asks for its role, of sessions and tokens for all workspaces', async () => {
  for (const { name, verb, path, operation } of await documented()) {
    if (operation?.scope === 'own' || name === 'tail') continue;
    const needed = operation?.role ?? 'operator';
    const url = path.replace(/\{\w+\}/g, ID);
    for (const [role, ask] of [
      ['viewer', viewer],
      ['viewer', viewerToken],
      ['operator', operatorToken],
      ['administrator', administrator],
    ] as const) {
      const { statusCode } = await ask(verb, url, { ...(verb !== 'GET' && { payload: {} }) });
      expect([name, role, statusCode === 403]).toEqual([name, role, !reaches(role, needed)]);
    }
  }
}, 120_000);

test('what is refused at sign-in is on record with its address, and a new session ends the one before', async () => {
  await addOperator(console_.store, {
    ...{ name: 'Sol', password: PASSWORD, role: 'viewer', workspaceId: null },
  });
  const from = { ...FROM_A_PAGE, 'x-forwarded-for': '203.0.113.99' };
  await postForm(console_.ask, '/sign-in', { name: 'Sol', password: 'wrong' }, from);
  const [entry] = await listAudit(console_.store, { limit: 1 });
  expect(entry).toMatchObject({
    ...{ action: 'sign-in', outcome: 'refused', subject: { address: '203.0.113.99' } },
  });
  const enter = async (cookie = '') => {
    const form = { name: 'Sol', password: PASSWORD };
    const answer = await postForm(console_.ask, '/sign-in', form, { ...from, cookie });
    return String([answer.headers['set-cookie']].flat()[0]).split(';')[0] ?? '';
  };
  const first = await enter();
  const second = await enter(first);
  const status = async (cookie: string) =>
    (await console_.ask('GET', '/api/me', { headers: { cookie } })).statusCode;
  expect([await status(first), await status(second)]).toEqual([401, 200]);
});

test('whoever acts is on record: who, what, on what, and how it ended', async () => {
  const done = await operator('POST', '/api/workspaces', { payload: { name: 'Recorded' } });
  expect(done.statusCode).toBe(201);
  await operator('POST', '/api/workspaces', { payload: { name: 'Recorded' } });
  await operatorToken('POST', `/api/links/${ID}/disable`);
  const [last, taken, first] = await listAudit(console_.store, { limit: 3 });
  expect(first).toMatchObject({
    actor: { kind: 'operator', name: 'Olga' },
    action: 'workspace.create',
    subject: { name: 'Recorded' },
    outcome: 'done',
  });
  expect(taken).toMatchObject({ action: 'workspace.create', outcome: 'refused' });
  expect(last).toMatchObject({
    actor: { kind: 'token' },
    action: 'link.disable',
    subject: { linkId: ID },
    outcome: 'refused',
  });
});

test('nothing that is secret or about a person gets into an entry', async () => {
  await administrator('POST', '/api/operators', {
    payload: { name: 'Nia', password: 'kept out of the log', role: 'viewer' },
  });
  await operator('POST', `/api/rejected/${ID}/mend`, {
    payload: { set: { email: 'zenobia@example.com' } },
  });
  await operator('PATCH', `/api/links/${ID}`, {
    payload: { guard: { captcha: { secret: 'kept-out-too' } } },
  });
  const entries = await listAudit(console_.store, { limit: 3 });
  expect(entries.map(({ action, subject }) => [action, subject])).toEqual([
    ['link.set', { linkId: ID }],
    ['rejected.mend', { rejectedId: ID }],
    ['operator.add', { name: 'Nia', role: 'viewer' }],
  ]);
});

test('what sets something says what it changed: old and new, and of secrets and telephones the name', async () => {
  const { id: workspaceId } = (
    await administrator('POST', '/api/workspaces', { payload: { name: 'Changed' } })
  ).json<{ id: string }>();
  const { id: linkId } = (
    await administrator('POST', `/api/workspaces/${workspaceId}/links`, {
      payload: { label: 'July' },
    })
  ).json<{ id: string }>();
  const captcha = {
    verifyUrl: 'https://api.hcaptcha.com/siteverify',
    secret: 'kept-out-of-it',
    fail: 'closed',
  };
  const settings = { mode: 'lenient', label: 'July', guard: { captcha }, linkLimit: 60 };
  const redirectUrl = 'https://shop.example/thanks?key=kept-out-of-it';
  const endpoint = { name: 'CRM', url: 'https://crm.example/hook/kept-out-of-it' };
  const made = (
    await administrator('POST', `/api/workspaces/${workspaceId}/endpoints`, { payload: endpoint })
  ).json<{ id: string }>();
  await addOperator(console_.store, {
    ...{ name: 'Ada', password: PASSWORD, role: 'viewer', workspaceId: null },
  });
  const set: [Ask, Parameters<Ask>[0], string, object][] = [
    [administrator, 'PATCH', `/api/links/${linkId}`, settings],
    [administrator, 'PATCH', `/api/links/${linkId}`, { redirectUrl, label: 'July' }],
    [
      ...([administrator, 'PATCH', `/api/workspaces/${workspaceId}`] as const),
      { timeZone: 'UTC', dummyPhones: ['+55 11 99999-0000'], dummyClasses: ['repeated'] },
    ],
    [
      ...([administrator, 'POST', `/api/workspaces/${workspaceId}/retention`] as const),
      { kind: 'submissions', days: 90 },
    ],
    [administrator, 'PATCH', '/api/operators/Ada', { role: 'operator' }],
    [
      ...([administrator, 'PATCH', `/api/endpoints/${made.id}`] as const),
      {
        url: 'https://crm.example/new/kept-out-of-it',
        headers: { 'x-key': 'kept-out' },
        perSecond: 2,
      },
    ],
  ];
  const changed: (string | undefined)[] = [];
  for (const [ask, verb, url, payload] of set) {
    const { statusCode, body } = await ask(verb, url, { payload });
    expect([url, statusCode, body]).toEqual([url, 200, body]);
    const [entry] = await listAudit(console_.store, { limit: 1 });
    changed.push(entry?.subject['changed']);
  }
  expect(changed).toEqual([
    'mode: strict → lenient, guard.captcha.verifyUrl: null → https://api.hcaptcha.com/siteverify, guard.captcha.secret, guard.captcha.fail: null → closed, linkLimit: null → 60',
    'redirectUrl: null → https://shop.example/thanks?…',
    'timeZone: America/Sao_Paulo → UTC, dummyPhones, dummyClasses: [] → ["repeated"]',
    'days: null → 90',
    'role: viewer → operator',
    'url, headers.x-key, perSecond: null → 2',
  ]);
  const entries = await listAudit(console_.store, { limit: 20 });
  expect(JSON.stringify(entries)).not.toMatch(/kept-out|99999/);
});

test('every operation that sets says what it changed', async () => {
  for (const { name, changes } of await allOperations())
    if (name.endsWith('.set')) expect([name, changes === null]).toEqual([name, false]);
});

test('the log is found by who, what and when', async () => {
  const asked = async (query: string) =>
    (await administrator('GET', `/api/audit?${query}`)).json<{ action: string }[]>();
  const links = await asked('action=link&actor=Olga');
  expect(links.map(({ action }) => action)).toEqual(['link.set']);
  expect(await asked('since=2999-01-01T00:00:00Z')).toEqual([]);
});

test('every route that acts is on record, without any route thinking of it', async () => {
  const acting = addresses().filter(({ method }) => method !== 'GET');
  for (const one of acting) {
    if (one.url === '/sign-out' || lists(one.url)) continue;
    const [before] = await listAudit(console_.store, { limit: 1 });
    const { statusCode, body } = await operatorToken(method(one.method), one.url, {
      payload: {},
    });
    // What is no valid request does nothing.
    if (statusCode === 422 && body.includes('"errors"')) continue;
    const [after] = await listAudit(console_.store, { limit: 1 });
    expect([one.name, statusCode, (after?.id ?? 0) > (before?.id ?? 0)]).toEqual([
      one.name,
      statusCode,
      true,
    ]);
  }
});

test('every answer has strict headers: no frames, no referrer, no foreign scripts', async () => {
  for (const [ask, url] of [
    [console_.ask, '/sign-in'],
    [console_.ask, '/nothing'],
    [console_.ask, '/%zz'],
    [operator, '/'],
    [operator, '/queues'],
    [operator, '/api/leads'],
  ] as const) {
    const { headers } = await ask('GET', url);
    expect([url, headers]).toMatchObject([
      url,
      {
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
      },
    ]);
    const csp = String(headers['content-security-policy']);
    expect(csp).toContain("default-src 'none'");
    expect(csp).toContain("frame-ancestors 'none'");
    expect(csp).not.toMatch(/script-src[^;]*unsafe/);
  }
});

test('over https a browser is told to stay there', async () => {
  const answer = await console_.ask('GET', '/sign-in', {
    headers: { 'x-forwarded-proto': 'https' },
  });
  expect(answer.headers['strict-transport-security']).toMatch(/^max-age=\d{8}/);
  const plain = await console_.ask('GET', '/sign-in');
  expect(plain.headers['strict-transport-security']).toBeUndefined();
});

test('no address holds a secret', () => {
  for (const { url } of console_.routes) expect(url).not.toMatch(/secret|password|code/i);
});
