import type { RejectedBody } from '@leadgate/contract';
import { bareSubmission, testDatabase } from '@leadgate/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { applyGroup } from './apply/apply-group.ts';
import { mergeLeads } from './apply/merges.ts';
import { saveRejected } from './inbox.ts';
import { openStore, type Store } from './open-store.ts';
import { directoryRevision, refillSource } from './refill-source.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 2 });
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

async function createWorkspace(): Promise<string> {
  const id = randomUUID();
  await store.prisma.workspace.create({ data: { id, name: id } });
  return id;
}

async function collect<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const page of pages) all.push(page);
  return all;
}

test('every identity comes once, over several pages, those of a lead one after the other', async () => {
  const workspaceId = await createWorkspace();
  await store.prisma.$executeRaw`
    INSERT INTO identity (workspace_id, key, lead_id)
    SELECT ${workspaceId}::uuid, kind || n, md5(n::text)::uuid
    FROM generate_series(1, 2600) AS n, unnest(ARRAY['email:', 'phone:']) AS kind`;
  await store.prisma.identity.create({
    data: {
      workspaceId: await createWorkspace(),
      key: 'email:0@example.com',
      leadId: randomUUID(),
    },
  });
  const pages = await collect(refillSource(store).identities(workspaceId));
  expect(pages.map((page) => page.length)).toEqual([5_000, 200]);
  const found = pages.flat();
  expect(new Set(found.map(({ key }) => key)).size).toBe(5_200);
  expect(found.filter(({ leadId }, n) => leadId !== found[n - 1]?.leadId)).toHaveLength(2_600);
});

test('identities of a merged lead come with the lead that stayed, and the highest order is the newest', async () => {
  const workspaceId = await createWorkspace();
  const [a, b] = [randomUUID(), randomUUID()];
  const submissions = [a, b].map((leadId, n) =>
    bareSubmission({ workspaceId, leadId, lead: { email: `${n}@example.com` } }),
  );
  const source = refillSource(store);
  expect(await source.highestOrders([workspaceId])).toEqual(new Map());
  await applyGroup(
    store,
    submissions.map((submission) => ({ submission, replay: false })),
  );
  await mergeLeads(store, workspaceId, a, b);
  expect((await collect(source.identities(workspaceId))).flat()).toEqual([
    { key: 'email:0@example.com', leadId: a },
    { key: 'email:1@example.com', leadId: a },
  ]);
  expect(await source.highestOrders([randomUUID(), workspaceId])).toEqual(
    new Map([[workspaceId, submissions[1]?.order]]),
  );
});

test('a change of a link, a code or a workspace counts the directory up, and its entries come all', async () => {
  const source = refillSource(store);
  const revisions = [await directoryRevision(store)];
  const workspaceId = await createWorkspace();
  revisions.push(await source.directoryRevision());
  const link = await store.prisma.captureLink.create({
    data: { id: randomUUID(), workspaceId, codes: { create: { code: 'abc' } } },
  });
  revisions.push(await source.directoryRevision());
  await store.prisma.captureLink.update({ where: { id: link.id }, data: { state: 'disabled' } });
  revisions.push(await source.directoryRevision());
  expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
  expect((await collect(source.links())).flat()).toMatchObject([
    { code: 'abc', link: { linkId: link.id, workspaceId, state: 'disabled' } },
  ]);
  expect(await source.workspaceIds()).toContain(workspaceId);
});

test('what changed after a revision comes with what is there now, and of another Postgres nothing does', async () => {
  const source = refillSource(store);
  const workspaceId = await createWorkspace();
  const make = async (code: string) => {
    const data = { id: randomUUID(), workspaceId, codes: { create: { code } } };
    return (await store.prisma.captureLink.create({ data })).id;
  };
  const changed = async (since: number) => {
    const found = await source.linkChanges(since);
    expect(found?.revision).toBe(await source.directoryRevision());
    return found?.entries.map(({ code, link }) => [code, link?.state ?? null]).toSorted();
  };
  const [one] = [await make('one'), await make('two')];
  const before = await source.directoryRevision();
  expect(await changed(before)).toEqual([]);

  await store.prisma.captureLink.update({ where: { id: one }, data: { state: 'disabled' } });
  await store.prisma.captureCode.delete({ where: { code: 'two' } });
  expect(await changed(before)).toEqual([
    ['one', 'disabled'],
    ['two', null],
  ]);
  await store.prisma.workspace.update({ where: { id: workspaceId }, data: { timeZone: 'UTC' } });
  await make('three');
  expect(await changed(before)).toEqual([
    ['one', 'disabled'],
    ['three', 'open'],
    ['two', null],
  ]);
  expect(await source.linkChanges(before + 1)).toBeNull();
});

test('a change of very many links is told as one that only reading all of them tells, and so is one long ago', async () => {
  const source = refillSource(store);
  const workspaceId = await createWorkspace();
  const linkId = randomUUID();
  await store.prisma.captureLink.create({ data: { id: linkId, workspaceId } });
  const before = await source.directoryRevision();
  await store.prisma.$executeRaw`
    INSERT INTO capture_code (code, link_id)
    SELECT 'many-' || n, ${linkId}::uuid FROM generate_series(1, 2001) AS n`;
  expect(await source.linkChanges(before)).toBeNull();

  const then = await source.directoryRevision();
  for (let n = 0; n < 1_001; n++)
    await store.prisma
      .$executeRaw`UPDATE workspace SET time_zone = ${`zone-${n}`} WHERE id = ${workspaceId}::uuid`;
  expect(await source.linkChanges(then)).toBeNull();
  const [row] = await store.prisma.$queryRaw<{ many: number }[]>`
    SELECT count(*)::int AS many FROM directory_change`;
  expect(row?.many).toBe(1_000);
});

test('a refused body is kept once, with what Postgres cannot hold taken out', async () => {
  const rejected: RejectedBody = {
    id: randomUUID(),
    workspaceId: randomUUID(),
    linkId: randomUUID(),
    stamp: 1_700_000_000_000_000,
    code: 'invalid-lead',
    errors: [{ pointer: '/email\0', code: 'invalid', detail: '\ud800' }],
    body: '{"email":"\0"}',
    bodyType: 'json',
    page: 'https://example.com',
  };
  await saveRejected(store, [rejected]);
  await saveRejected(store, [rejected, { ...rejected, id: randomUUID() }]);
  await saveRejected(store, []);
  const rows = await store.prisma.rejectedSubmission.findMany();
  expect(rows).toHaveLength(2);
  expect(rows.find(({ id }) => id === rejected.id)).toMatchObject({
    stamp: 1_700_000_000_000_000n,
    code: 'invalid-lead',
    errors: [{ pointer: '/email', code: 'invalid', detail: '\ufffd' }],
    body: '{"email":""}',
    page: 'https://example.com',
    userAgent: null,
  });
});
