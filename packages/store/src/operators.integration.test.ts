import { Keyring } from '@leadgate/boot';
import { testDatabase } from '@leadgate/testkit';
import { type TOTP, URI } from 'otpauth';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { randomUUID, scryptSync } from 'node:crypto';
import {
  beginSecondFactor,
  confirmSecondFactor,
  createToken,
  findToken,
  listTokens,
  type NewToken,
  revokeToken,
} from './credentials.ts';
import { openStore, type Store } from './open-store.ts';
import {
  addOperator,
  changeAccess,
  changePassword,
  countAttempt,
  endSession,
  endSessionById,
  findSession,
  issueFirstCode,
  listOperators,
  listSessions,
  removeOperator,
  signIn,
  signInFirst,
} from './operators.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 4 });
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

beforeEach(async () => {
  await store.prisma.$executeRaw`
    TRUNCATE operator, operator_workspace, operator_session, security_key, key_challenge, api_token,
      first_code, sign_in_attempt`;
});

const PASSWORD = 'correct horse battery';
const ADDRESS = '198.51.100.7';
const ORIGIN = 'https://console.example.com';
const KEYS = new Keyring('a secret of the tests, long enough to sign');
const add = (name: string) =>
  addOperator(store, { name, password: PASSWORD, role: 'operator', workspaceId: null });
/** A hash says what it cost. One of little cost will do for what is no test of adding an operator. */
const CHEAP = [
  'c2FsdA==',
  scryptSync(PASSWORD, 'salt', 32, { N: 16, r: 1, p: 1 }).toString('base64'),
];
const has = (name: string) =>
  store.prisma.operator.create({
    data: {
      ...{ id: randomUUID(), name, role: 'operator' },
      passwordHash: `$scrypt$ln=4,r=1,p=1$${CHEAP.join('$')}`,
    },
  });
const make = (token: Pick<NewToken, 'name'> & Partial<NewToken>) =>
  createToken(store, {
    ...{ role: 'viewer', workspaceId: null, days: 90 },
    createdBy: { name: 'Otto', operatorId: null },
    ...token,
  });
const enter = (
  name: string,
  password = PASSWORD,
  address = ADDRESS,
  device: string | null = null,
  secondFactor = '',
) =>
  signIn(
    store,
    { name, password, address, device, browser: 'Firefox', secondFactor, origin: ORIGIN },
    KEYS,
  );

async function tokenOf(name: string): Promise<string> {
  const outcome = await enter(name);
  if (outcome.kind !== 'signed-in') throw new Error(outcome.kind);
  return outcome.session.token;
}

test('a name and its password open a session, which signing out ends', async () => {
  await add(' Ana ');
  const token = await tokenOf('Ana');
  expect(await findSession(store, token)).toMatchObject({
    operator: { name: 'Ana', role: 'operator', workspaces: [] },
  });
  await endSession(store, token);
  expect(await findSession(store, token)).toBeNull();
});

test('an expired session is none', async () => {
  await has('Ana');
  const token = await tokenOf('Ana');
  await store.prisma.operatorSession.updateMany({ data: { expiresAt: new Date() } });
  expect(await findSession(store, token)).toBeNull();
});

test('nothing in the tables lets a reader of them sign in', async () => {
  await add('Ana');
  const token = await tokenOf('Ana');
  const created = await make({ name: 'ci' });
  const issued = created.kind === 'created' ? created.secret : '';
  const rows = JSON.stringify([
    await store.prisma.operator.findMany(),
    await store.prisma.operatorSession.findMany(),
    await store.prisma.apiToken.findMany(),
  ]);
  for (const secret of [PASSWORD, token, issued.slice(3)]) expect(rows).not.toContain(secret);
});

test('removing an operator, or changing their password, ends their sessions', async () => {
  await has('Ana');
  const before = await tokenOf('Ana');
  expect(await changePassword(store, 'Ana', 'another long password')).toEqual({ kind: 'changed' });
  expect(await findSession(store, before)).toBeNull();
  expect(await enter('Ana')).toEqual({ kind: 'refused' });
  const after = await enter('Ana', 'another long password');
  expect(await removeOperator(store, 'Ana')).toBe(true);
  expect(
    after.kind === 'signed-in' ? await findSession(store, after.session.token) : after,
  ).toBeNull();
  expect(await removeOperator(store, 'Ana')).toBe(false);
  expect(await changePassword(store, 'Ana', PASSWORD)).toEqual({ kind: 'unknown-operator' });
});

test('every fault of a new operator is named at once, and a name is taken once', async () => {
  const wrong = await addOperator(store, {
    ...{ name: ' ', password: 'short' },
    ...{ role: 'operator', workspaceId: null },
  });
  expect(wrong).toMatchObject({
    kind: 'invalid',
    errors: [{ pointer: '/name' }, { pointer: '/password' }],
  });
  const outcomes = await Promise.all([add('Ana'), add('Ana'), add('Ana')]);
  expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual([
    'added',
    'name-taken',
    'name-taken',
  ]);
  expect(await listOperators(store)).toHaveLength(1);
});

test('guessing many passwords at once gets no more tries than one after the other', async () => {
  await has('Ana');
  const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => enter('Ana', `no ${n}`)));
  const tried = outcomes.filter(({ kind }) => kind === 'refused');
  expect(tried).toHaveLength(5);
});

test('an address that tries many names is slowed, and another address is not', async () => {
  await has('Ana');
  for (let n = 0; n < 5; n++)
    await countAttempt(store, {
      name: `nobody ${n}`,
      address: '2001:db8:1:2::1',
      device: null,
    });
  expect(await enter('Ana', PASSWORD, '2001:db8:1:2:ffff::2')).toMatchObject({ kind: 'slowed' });
  expect(await enter('Ana', PASSWORD, '2001:db8:1:3::1')).toMatchObject({ kind: 'signed-in' });
});

test('a name that somebody else keeps trying is free again within half a minute', async () => {
  await has('Ana');
  await enter('Ana', 'wrong');
  await store.prisma.signInAttempt.updateMany({
    where: { bucket: { startsWith: 'name:' } },
    data: { attempts: 999 },
  });
  await enter('Ana', 'wrong', '203.0.113.9');
  const slowed = await enter('Ana', PASSWORD, '203.0.113.10');
  expect(slowed.kind === 'slowed' ? slowed.retryAfterSeconds : 0).toBeLessThanOrEqual(30);
});

test('a browser that the name signed in on is kept out by no stranger, and guesses no more than one', async () => {
  await has('Ana');
  // One address for all, as behind a proxy that is not named, and 60 of their own.
  for (let n = 0; n < 8; n++) await enter('Ana', 'wrong');
  for (let n = 0; n < 60; n++) await enter('Ana', 'wrong', `203.0.113.${n}`);
  expect(await enter('Ana')).toMatchObject({ kind: 'slowed' });
  for (let n = 0; n < 12; n++)
    expect(await enter('Ana', PASSWORD, ADDRESS, 'device-1')).toMatchObject({ kind: 'signed-in' });
  const outcomes = [];
  for (let n = 0; n < 9; n++)
    outcomes.push((await enter('Ana', 'wrong', ADDRESS, 'device-2')).kind);
  expect(outcomes.filter((kind) => kind === 'refused')).toHaveLength(5);
  expect(await enter('Ana', PASSWORD, ADDRESS, 'device-1')).toMatchObject({ kind: 'signed-in' });
}, 60_000);

test('no two names look the same: invisible characters are refused', async () => {
  await add('olga');
  for (const name of ['olga\u200b', 'ol\u00adga', '\u2060olga', 'ol\u200dga'])
    expect(await add(name)).toMatchObject({ kind: 'invalid', errors: [{ pointer: '/name' }] });
});

test('whatever is tried, the table of attempts holds neither names nor addresses', async () => {
  await enter('maria.silva@example.com', 'wrong', '203.0.113.77');
  await enter('maria.silva@example.com', 'wrong', '203.0.113.77', 'maria');
  const rows = await store.prisma.signInAttempt.findMany();
  expect(rows.every(({ bucket }) => /^(name|address|device):[0-9a-f]{4}$/.test(bucket))).toBe(true);
});

test('the one-time code makes one first operator, even of two who type it at once', async () => {
  const issued = await issueFirstCode(store);
  if (issued.kind !== 'issued') throw new Error(issued.kind);
  const typed = ` ${issued.code.toLowerCase().replaceAll('-', ' ')} `;
  const outcomes = await Promise.all(
    ['Ana', 'Bia'].map((name) =>
      signInFirst(store, { code: typed, name, password: PASSWORD, address: ADDRESS, browser: '' }),
    ),
  );
  expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['refused', 'signed-in']);
  expect(await listOperators(store)).toMatchObject([{ role: 'administrator' }]);
  expect(await issueFirstCode(store)).toEqual({ kind: 'not-needed' });
});

test.each([
  ['a wrong code', (code: string) => (code.startsWith('0') ? '1' : '0') + code.slice(1), 0],
  ['no code', () => '', 0],
  ['an expired code', (code: string) => code, 16],
])('%s makes no operator', async (_, typed, minutesLater) => {
  const issued = await issueFirstCode(store);
  if (issued.kind !== 'issued') throw new Error(issued.kind);
  await store.prisma.$executeRaw`
    UPDATE first_code SET expires_at = expires_at - make_interval(mins => ${minutesLater}::int)`;
  const first = { name: 'Ana', password: PASSWORD, address: ADDRESS, browser: '' };
  expect(await signInFirst(store, { ...first, code: typed(issued.code) })).toEqual({
    kind: 'refused',
  });
  expect(await listOperators(store)).toEqual([]);
});

test('a code is replaced by the next, and cannot be guessed at leisure', async () => {
  const first = await issueFirstCode(store);
  const second = await issueFirstCode(store);
  const code = first.kind === 'issued' ? first.code : '';
  const request = { name: 'Ana', password: PASSWORD, address: ADDRESS, browser: '' };
  expect(await signInFirst(store, { ...request, code })).toEqual({ kind: 'refused' });
  for (let n = 0; n < 4; n++) await signInFirst(store, { ...request, code: `${n}` });
  const right = second.kind === 'issued' ? second.code : '';
  expect(await signInFirst(store, { ...request, code: right })).toMatchObject({ kind: 'slowed' });
});

test('a token works until it is revoked, and its name is free again then', async () => {
  const created = await make({ name: 'reports' });
  if (created.kind !== 'created') throw new Error(created.kind);
  expect(created.secret).toMatch(/^lg_[\w-]{43}$/);
  expect(await findToken(store, created.secret)).toMatchObject({ name: 'reports', role: 'viewer' });
  expect((await listTokens(store))[0]?.lastUsedAt).toBeInstanceOf(Date);
  expect(await make({ name: 'reports' })).toMatchObject({
    kind: 'name-taken',
  });
  expect(await revokeToken(store, 'reports')).toMatchObject({ id: created.token.id });
  expect(await revokeToken(store, 'reports')).toBeNull();
  expect(await findToken(store, created.secret)).toBeNull();
  expect(await findToken(store, `lg_${randomUUID()}`)).toBeNull();
  expect(await make({ name: 'reports' })).toMatchObject({
    kind: 'created',
  });
});

const WORKSPACE = '5c1f2c1e-5d0a-4c39-8c52-8a8d3f0b7a02';
const inWorkspace = () =>
  store.prisma.workspace.upsert({
    where: { id: WORKSPACE },
    create: { id: WORKSPACE, name: 'Agency' },
    update: {},
  });

test.each([
  '1234567890',
  'qwertyuiop',
  'leadgate123',
  'Senha12345',
  'Anabela Souza',
  'anabela souza1',
  'aaaaaaaaaaaa',
])('%s is no password: it is among the first that are guessed', async (password) => {
  const operator = { name: 'Anabela Souza', password, role: 'viewer', workspaceId: null } as const;
  expect(await addOperator(store, operator)).toMatchObject({
    kind: 'invalid',
    errors: [{ pointer: '/password' }],
  });
});

test('a role is for all workspaces or for one, and can be taken away', async () => {
  await inWorkspace();
  await has('Ana');
  const one = { role: 'viewer', workspaceId: WORKSPACE } as const;
  expect(await changeAccess(store, 'Ana', one)).toMatchObject({
    operator: { role: 'operator', workspaces: [one] },
  });
  await changeAccess(store, 'Ana', { role: null, workspaceId: null });
  expect(await changeAccess(store, 'Ana', { role: 'operator', workspaceId: WORKSPACE })).toEqual({
    kind: 'changed',
    operator: expect.objectContaining({
      ...{ role: null, workspaces: [{ role: 'operator', workspaceId: WORKSPACE }] },
    }) as unknown,
  });
  expect(await changeAccess(store, 'Bia', one)).toEqual({ kind: 'unknown-operator' });
  expect(await changeAccess(store, 'Ana', { ...one, workspaceId: randomUUID() })).toEqual({
    kind: 'unknown-workspace',
  });
});

test('a session that nobody uses for an hour has ended, and one can be ended from another', async () => {
  await has('Ana');
  const [idle, used] = [await tokenOf('Ana'), await tokenOf('Ana')];
  const found = await findSession(store, used);
  if (found === null) throw new Error('no session');
  const sessions = await listSessions(store, found.operator.id);
  expect(sessions.map(({ browser }) => browser)).toEqual(['Firefox', 'Firefox']);
  await store.prisma.$executeRaw`
    UPDATE operator_session SET last_used_at = now() - interval '61 minutes'
    WHERE id <> ${found.sessionId}::uuid`;
  expect(await findSession(store, idle)).toBeNull();
  expect(await endSessionById(store, randomUUID(), found.sessionId)).toBe(false);
  expect(await endSessionById(store, found.operator.id, found.sessionId)).toBe(true);
  expect(await findSession(store, used)).toBeNull();
});

test('a second factor counts once it is confirmed, and a code is taken once', async () => {
  await has('Ana');
  const { uri, secret } = await beginSecondFactor(store, 'Ana', KEYS);
  expect(await enter('Ana')).toMatchObject({ kind: 'signed-in' });
  const totp = URI.parse(uri) as TOTP;
  expect(await confirmSecondFactor(store, 'Ana', '000000', KEYS)).toBe(false);
  expect(await confirmSecondFactor(store, 'Ana', totp.generate(), KEYS)).toBe(true);
  const withCode = (code: string) => enter('Ana', PASSWORD, ADDRESS, null, code);
  expect(await withCode('')).toEqual({ kind: 'code-needed' });
  expect(await withCode('12 34 56')).toEqual({ kind: 'refused' });
  // The one that confirmed it was taken.
  expect(await withCode(totp.generate())).toEqual({ kind: 'refused' });
  const next = totp.generate({ timestamp: Date.now() + 30_000 });
  expect(await withCode(`${next.slice(0, 3)} ${next.slice(3)}`)).toMatchObject({
    kind: 'signed-in',
  });
  const rows = JSON.stringify(await store.prisma.operator.findMany());
  expect(rows).not.toContain(secret);
});

test('a token ends, and goes with the operator who made it', async () => {
  const added = await add('Ana');
  const operatorId = added.kind === 'added' ? added.operator.id : '';
  const secretOf = async (token: Parameters<typeof make>[0]) => {
    const created = await make(token);
    if (created.kind !== 'created') throw new Error(created.kind);
    return created.secret;
  };
  const hers = await secretOf({ name: 'hers', createdBy: { name: 'Ana', operatorId } });
  const short = await secretOf({ name: 'short', days: 1 });
  const other = await secretOf({ name: 'other' });
  expect(await findToken(store, hers)).toMatchObject({ createdBy: 'Ana' });
  await store.prisma.$executeRaw`
    UPDATE api_token SET expires_at = now() WHERE name = 'short'`;
  expect(await findToken(store, short)).toBeNull();
  await removeOperator(store, 'Ana');
  expect(await findToken(store, hers)).toBeNull();
  expect(await findToken(store, other)).toMatchObject({ createdBy: 'Otto' });
  for (const days of [0, 367, 1.5])
    expect(await make({ name: 'wrong', days })).toMatchObject({ kind: 'invalid' });
});
