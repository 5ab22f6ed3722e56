import { LINK_DEFAULTS } from '@leadgate/contract';
import { testDatabase } from '@leadgate/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import {
  createLink,
  expireLink,
  findLink,
  type Link,
  listLinks,
  rotateLink,
  setLinkState,
} from './links.ts';
import { openStore, type Store } from './open-store.ts';
import { linkEntries, linkEntryPages } from './refill-source.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 8 });
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

const plain = {
  ...LINK_DEFAULTS,
  expiresAt: null,
};

async function workspace(): Promise<string> {
  const id = randomUUID();
  await store.prisma.workspace.create({
    data: {
      id,
      name: id,
      country: 'PT',
      dummyPhones: ['+351900000000'],
      dummyClasses: ['impossible'],
    },
  });
  return id;
}

async function create(more: Partial<Parameters<typeof createLink>[2]> = {}): Promise<Link> {
  const outcome = await createLink(store, await workspace(), { ...plain, ...more });
  if (outcome.kind !== 'created') throw new Error(outcome.kind);
  return outcome.link;
}

async function revision(): Promise<number> {
  const row = await store.prisma.directoryRevision.findFirstOrThrow();
  return Number(row.revision);
}

const HOUR = 3_600_000;

test('a link is found by its code and by its id, and in its workspace', async () => {
  const link = await create({ label: 'Instagram', origins: ['https://a.example'], linkLimit: 9 });
  expect(link).toMatchObject({ label: 'Instagram', state: 'open', codes: [{ expiresAt: null }] });
  expect(await findLink(store, link.id)).toEqual(link);
  expect(await findLink(store, link.codes[0]?.code ?? '')).toEqual(link);
  expect(await listLinks(store, link.workspaceId)).toEqual([link]);
  expect(await findLink(store, 'nothing')).toBeNull();
});

test('a link of no workspace is refused', async () => {
  expect(await createLink(store, randomUUID(), plain)).toEqual({ kind: 'unknown-workspace' });
});

test('the entry of a link carries all that the receiver needs', async () => {
  const expiresAt = new Date(Date.now() + HOUR);
  const link = await create({
    mode: 'lenient',
    requireIdentity: true,
    origins: ['https://a.example'],
    allowServers: false,
    redirectUrl: 'https://a.example/thanks',
    linkLimit: 100,
    addressLimit: 10,
    expiresAt,
  });
  expect(await linkEntries(store, link.id)).toEqual([
    {
      code: link.codes[0]?.code,
      link: {
        linkId: link.id,
        workspaceId: link.workspaceId,
        country: 'PT',
        dummyPhones: ['+351900000000'],
        dummyClasses: ['impossible'],
        state: 'open',
        expiresAt: expiresAt.getTime(),
        mode: 'lenient',
        requireIdentity: true,
        origins: ['https://a.example'],
        allowServers: false,
        redirectUrl: 'https://a.example/thanks',
        linkLimit: 100,
        addressLimit: 10,
        revision: await revision(),
      },
    },
  ]);
});

test('pages of entries hold every code once, closed ones too', async () => {
  const links = await Promise.all(Array.from({ length: 5 }, () => create()));
  const [first] = links;
  await setLinkState(store, first?.id ?? '', 'disabled');
  await rotateLink(store, first?.id ?? '', 0);
  const codes: string[] = [];
  for await (const page of linkEntryPages(store, 2)) {
    expect(page.length).toBeLessThanOrEqual(2);
    codes.push(...page.map(({ code }) => code));
  }
  const stored = await store.prisma.captureCode.findMany();
  expect(codes.toSorted()).toEqual(stored.map(({ code }) => code).toSorted());
});

test('disabling and enabling a link counts the directory up, so that the worker carries it over', async () => {
  const { id } = await create();
  const before = await revision();
  expect(await setLinkState(store, id, 'disabled')).toMatchObject({ state: 'disabled' });
  expect(await revision()).toBeGreaterThan(before);
  expect(await setLinkState(store, id, 'open')).toMatchObject({ state: 'open' });
  expect(await setLinkState(store, randomUUID(), 'open')).toBeNull();
});

describe('rotation', () => {
  test('the old code lives until the overlap ends, the new one stands first', async () => {
    const link = await create();
    const outcome = await rotateLink(store, link.id, 60);
    if (outcome.kind !== 'rotated') throw new Error(outcome.kind);
    const [current, old] = outcome.link.codes;
    expect(current?.expiresAt).toBeNull();
    expect(old?.code).toBe(link.codes[0]?.code);
    expect(old?.expiresAt?.getTime()).toBeCloseTo(Date.now() + 60_000, -4);
  });

  test('a second one without overlap ends every older code, and lengthens none', async () => {
    const link = await create();
    await rotateLink(store, link.id, 3600);
    const hourEnds = (await findLink(store, link.id))?.codes[1]?.expiresAt;
    await rotateLink(store, link.id, 7200);
    expect((await findLink(store, link.id))?.codes[2]?.expiresAt).toEqual(hourEnds);
    await rotateLink(store, link.id, 0);
    const codes = (await findLink(store, link.id))?.codes ?? [];
    expect(codes.map(({ expiresAt }) => expiresAt !== null && expiresAt <= new Date())).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  test('the new code ends when the link was to end', async () => {
    const expiresAt = new Date(Date.now() + HOUR);
    const { id } = await create({ expiresAt });
    await rotateLink(store, id, 7200);
    const codes = (await findLink(store, id))?.codes;
    expect(codes?.map((code) => code.expiresAt)).toEqual([expiresAt, expiresAt]);
  });

  test('an expired link is not rotated into a code that is closed from the start', async () => {
    const { id } = await create({ expiresAt: new Date(Date.now() - 1) });
    expect(await rotateLink(store, id, 60)).toMatchObject({ kind: 'expired', link: { id } });
    expect((await findLink(store, id))?.codes).toHaveLength(1);
  });

  test('many at once leave one code without an end', async () => {
    const { id } = await create();
    await Promise.all(Array.from({ length: 6 }, () => rotateLink(store, id, 60)));
    const codes = (await findLink(store, id))?.codes ?? [];
    expect(codes).toHaveLength(7);
    expect(codes.filter(({ expiresAt }) => expiresAt === null)).toEqual([codes[0]]);
  });

  test('a link that is not there is said so', async () => {
    expect(await rotateLink(store, randomUUID(), 60)).toEqual({ kind: 'unknown-link' });
  });
});

describe('expiry', () => {
  test('at once, at a time, and never, the codes of old rotations excepted', async () => {
    const { id } = await create();
    await rotateLink(store, id, 60);
    const oldEnds = (await findLink(store, id))?.codes[1]?.expiresAt;
    const later = new Date(Date.now() + HOUR);
    expect((await expireLink(store, id, later))?.codes.map((code) => code.expiresAt)).toEqual([
      later,
      oldEnds,
    ]);
    expect((await expireLink(store, id, null))?.codes.map((code) => code.expiresAt)).toEqual([
      null,
      oldEnds,
    ]);
    const ended = (await expireLink(store, id, 'now'))?.codes ?? [];
    for (const { expiresAt } of ended) expect(expiresAt?.getTime()).toBeLessThanOrEqual(Date.now());
  });

  test('a link that is not there is said so', async () => {
    expect(await expireLink(store, randomUUID(), 'now')).toBeNull();
  });
});
