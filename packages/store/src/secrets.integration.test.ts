import { Keyring } from '@leadgate/boot';
import { LINK_DEFAULTS } from '@leadgate/contract';
import { testDatabase } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createEndpoint, rotateEndpointSecret } from './endpoints.ts';
import { createLink, updateLink } from './links.ts';
import { openStore, type Store } from './open-store.ts';
import { linkEntries } from './refill-source.ts';
import { renewSecrets, SECRET_HOLDERS } from './secrets.ts';
import { NIL_UUID } from './statements.ts';

const OLD = new Keyring('the old key of the tests, long enough');
const NEW = 'the new key of the tests, long enough';
const BOTH = new Keyring(NEW, { before: 'the old key of the tests, long enough' });

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let workspaceId: string;
beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 4 });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});
beforeEach(async () => {
  await store.prisma.endpoint.deleteMany();
  await store.prisma.captureCode.deleteMany();
  await store.prisma.captureLink.deleteMany();
  await store.prisma.operator.deleteMany();
  workspaceId = randomUUID();
  await store.prisma.workspace.create({ data: { id: workspaceId, name: workspaceId } });
});

const CAPTCHA = {
  verifyUrl: 'https://captcha.example.com/verify',
  secret: 'captcha-s3cret',
  fail: 'open',
} as const;
const GUARD = { honeypot: null, minFillSeconds: null, captcha: CAPTCHA };

async function aLink(keyring: Keyring) {
  const settings = { ...LINK_DEFAULTS, expiresAt: null, guard: GUARD };
  const made = await createLink(store, workspaceId, settings, keyring);
  if (made.kind !== 'created') throw new Error(made.kind);
  const { id } = made.link;
  const proof = { by: { way: 'body', key: 'google_key' }, secret: 'sender-s3cret' } as const;
  await updateLink(store, id, { proof }, keyring);
  return id;
}

async function anEndpoint(keyring: Keyring) {
  const made = await createEndpoint(
    store,
    workspaceId,
    {
      ...{ name: 'crm', url: 'https://crm.example/', mapping: null, events: ['lead.created'] },
      ...{ headers: { authorization: 'header-s3cret' }, linkIds: [], perSecond: null },
      concurrency: 1,
    },
    { secret: 'endpoint-s3cret', keyring },
  );
  if (made.kind !== 'done') throw new Error(made.kind);
  const { id } = made.endpoint;
  const fresh = { secret: 'endpoint-s3cret-2', keyring, overlapSeconds: 60 };
  await rotateEndpointSecret(store, id, fresh);
  return id;
}

async function renewAll(keyring: Keyring, dryRun = false) {
  const counts = { current: 0, renewed: 0, unreadable: 0 };
  for (const holder of SECRET_HOLDERS) {
    const step = await renewSecrets(store, keyring, holder, { after: NIL_UUID, dryRun });
    counts.current += step.current;
    counts.renewed += step.renewed;
    counts.unreadable += step.unreadable;
  }
  return counts;
}

test('every secret goes from one key to the other, also plain ones of before, and once', async () => {
  const linkId = await aLink(OLD);
  const endpointId = await anEndpoint(OLD);
  const totpSecret = OLD.seal(new Uint8Array([1, 2, 3]));
  const operator = { id: randomUUID(), name: 'Ana', passwordHash: '', totpSecret };
  await store.prisma.operator.create({ data: operator });
  const plain = await aLink(OLD);
  await store.prisma.captureLink.update({
    where: { id: plain },
    data: { captchaSecret: 'plain-s3cret' },
  });

  expect(await renewAll(BOTH, true)).toEqual({ current: 0, renewed: 8, unreadable: 0 });
  expect(await renewAll(new Keyring(NEW), true)).toEqual({ current: 0, renewed: 1, unreadable: 7 });
  expect(await renewAll(BOTH)).toEqual({ current: 0, renewed: 8, unreadable: 0 });
  const after = new Keyring(NEW);
  expect(await renewAll(after)).toEqual({ current: 8, renewed: 0, unreadable: 0 });

  const endpoint = await store.prisma.endpoint.findUniqueOrThrow({ where: { id: endpointId } });
  const { secret, oldSecret, headers } = endpoint;
  expect(
    [secret, oldSecret, headers].map((one) => after.open(one ?? expect.fail()).toString()),
  ).toEqual(['endpoint-s3cret-2', 'endpoint-s3cret', '{"authorization":"header-s3cret"}']);
  const row = await store.prisma.operator.findUniqueOrThrow({ where: { id: operator.id } });
  expect([...after.open(row.totpSecret ?? expect.fail())]).toEqual([1, 2, 3]);
  for (const [id, captcha] of [
    [linkId, 'captcha-s3cret'],
    [plain, 'plain-s3cret'],
  ] as const) {
    const [entry] = await linkEntries(store, id);
    expect(JSON.stringify(entry)).not.toContain('s3cret');
    const { proof, guard } = entry?.link ?? expect.fail();
    expect(after.openText(guard?.captcha?.secret ?? '')).toBe(captcha);
    expect(after.openText(proof?.secret ?? '')).toBe('sender-s3cret');
    expect(proof?.by).toEqual({ way: 'body', key: 'google_key' });
  }
});

test('it goes on where it was stopped, a hundred rows at a time', async () => {
  const sealed = OLD.seal('s3cret');
  await store.prisma.operator.createMany({
    data: Array.from({ length: 150 }, (_, n) => ({
      ...{ id: randomUUID(), name: `operator ${n}`, passwordHash: '', totpSecret: sealed },
    })),
  });
  const first = await renewSecrets(store, BOTH, 'operator', {
    after: NIL_UUID,
    dryRun: false,
  });
  expect(first).toMatchObject({ renewed: 100 });
  // Begun again, not resumed: what was done is found done.
  const again = await renewSecrets(store, BOTH, 'operator', {
    after: NIL_UUID,
    dryRun: false,
  });
  expect(again).toMatchObject({ current: 100, renewed: 0, last: first.last });
  const rest = await renewSecrets(store, BOTH, 'operator', {
    after: first.last ?? '',
    dryRun: false,
  });
  expect(rest).toMatchObject({ renewed: 50, last: null });
});

test('a secret is not stored without a key, and a kept one stays when the rest changes', async () => {
  const settings = { ...LINK_DEFAULTS, expiresAt: null, guard: GUARD };
  await expect(createLink(store, workspaceId, settings)).rejects.toThrow(/without a key/);
  const id = await aLink(OLD);
  const stored = async () =>
    (await store.prisma.captureLink.findUniqueOrThrow({ where: { id } })).captchaSecret;
  const before = await stored();
  await updateLink(store, id, { guard: { captcha: { fail: 'closed' } } });
  expect(await stored()).toBe(before);
  const long = 'x'.repeat(512);
  const update = { guard: { captcha: { secret: long } } };
  expect(await updateLink(store, id, update, OLD)).toMatchObject({ kind: 'updated' });
  await updateLink(store, id, { guard: { captcha: { fail: 'open' } } });
  expect(OLD.openText((await stored()) ?? '')).toBe(long);
});
