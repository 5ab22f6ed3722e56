import { testDatabase } from '@leadgate/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { type DuplicateFilter, isDuplicatePair, listDuplicates } from './leads.ts';
import { openStore, type Store } from './open-store.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
const workspaceId = randomUUID();

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 2 });
  await store.prisma.workspace.create({ data: { id: workspaceId, name: workspaceId } });
});

afterAll(async () => {
  await store.close();
  await database.drop();
});

async function pairAt(createdAt: Date): Promise<[string, string]> {
  const [a = '', b = ''] = [randomUUID(), randomUUID()].toSorted();
  await store.prisma.lead.createMany({ data: [a, b].map((id) => ({ workspaceId, id })) });
  await store.prisma.possibleDuplicate.create({
    data: { workspaceId, leadA: a, leadB: b, createdAt },
  });
  return [a, b];
}

const list = (filter: DuplicateFilter = {}, limit = 100) => listDuplicates(store, filter, limit);

test('page by page every pair comes once, newest first, also those of one moment', async () => {
  const moment = new Date('2026-11-27T12:00:00.123Z');
  for (let n = 0; n < 4; n += 1) await pairAt(moment);
  const newest = await pairAt(new Date('2026-11-27T13:00:00Z'));
  const oldest = await pairAt(new Date('2026-11-27T11:00:00Z'));
  const all = await list();
  expect(all).toHaveLength(6);
  expect(all[0]?.a.leadId).toBe(newest[0]);
  expect(all[5]?.a.leadId).toBe(oldest[0]);
  const seen: string[] = [];
  for (let after: string | undefined; ;) {
    const page = await list(after === undefined ? {} : { after }, 2);
    seen.push(...page.map(({ pair }) => pair));
    after = page.at(-1)?.pair;
    if (after === undefined) break;
    expect(isDuplicatePair(after)).toBe(true);
  }
  expect(seen).toEqual(all.map(({ pair }) => pair));
});

test('pairs are found by workspace, lead and when they were first seen', async () => {
  const [a, b] = await pairAt(new Date('2026-12-01T10:00:00Z'));
  for (const leadId of [a, b])
    expect(await list({ leadId })).toMatchObject([{ a: { leadId: a }, b: { leadId: b } }]);
  expect(await list({ since: new Date('2026-12-01T00:00:00Z') })).toHaveLength(1);
  expect(await list({ until: new Date('2026-11-27T12:00:00Z') })).toHaveLength(1);
  expect(await list({ workspaceId: randomUUID() })).toEqual([]);
});

test.each(['', 'x', '1_2_3', "1_'; DROP TABLE lead; --_x"])(
  '%s is no place in the list',
  (text) => {
    expect(isDuplicatePair(text)).toBe(false);
  },
);
