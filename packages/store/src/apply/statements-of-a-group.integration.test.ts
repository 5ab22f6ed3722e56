import { sampleSubmission, testDatabase } from '@leadgate/testkit';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { randomUUID } from 'node:crypto';
import { openStore, type Store } from '../open-store.ts';
import { applyGroup } from './apply-group.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 1 });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

/** The statements of one group, by their first words. */
async function statementsOf(submissions: ReturnType<typeof sampleSubmission>[]): Promise<string[]> {
  const query = vi.spyOn(pg.Client.prototype, 'query');
  await applyGroup(
    store,
    submissions.map((submission) => ({ submission, replay: false })),
  );
  const texts = query.mock.calls.map(([statement]: unknown[]) =>
    typeof statement === 'string' ? statement : (statement as { text: string }).text,
  );
  query.mockRestore();
  return texts.map(firstWords);
}

/** Prisma names every column of what it selects itself: of that, the table. */
function firstWords(text: string): string {
  const table = /^SELECT "public"\."(\w+)"/.exec(text)?.[1];
  if (table !== undefined) return `SELECT ${table}`;
  return text
    .trim()
    .split(/[\s(]+/)
    .slice(0, 3)
    .join(' ');
}

const people = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => sampleSubmission(from + n));

/** Another submission of the same person. */
const again = (n: number) =>
  sampleSubmission(n, { id: randomUUID(), order: 1_800_000_000_000_000 + n });

test('a group costs the same statements, however many submissions it holds', async () => {
  const ofOne = await statementsOf(people(0, 1));
  expect(ofOne).toEqual([
    'BEGIN',
    'SELECT id, workspace_id',
    'WITH new AS',
    'SELECT asked.workspace_id AS',
    'WITH begun AS',
    'WITH changed AS',
    'COMMIT',
  ]);
  expect(await statementsOf(people(100, 100))).toEqual(ofOne);
});

test('people who are known cost as many, and a group of both kinds one more', async () => {
  await statementsOf(people(1_000, 50));
  const statements = await statementsOf(people(1_000, 50).map((_, n) => again(1_000 + n)));
  expect(statements).toEqual([
    'BEGIN',
    'SELECT id, workspace_id',
    'WITH new AS',
    'SELECT asked.workspace_id AS',
    'SELECT lead.workspace_id AS',
    'WITH changed AS',
    'COMMIT',
  ]);
  const ofBoth = await statementsOf([again(1_000), ...people(1_100, 50)]);
  expect(ofBoth).toEqual(statements.toSpliced(4, 0, 'WITH begun AS'));
});

test('endpoints that are told of all of it cost no statement', async () => {
  const without = await statementsOf(people(2_000, 20));
  const { workspaceId } = sampleSubmission(0);
  await store.prisma.workspace.create({ data: { id: workspaceId, name: 'told' } });
  await store.prisma.endpoint.createMany({
    data: ['a', 'b'].map((name) => ({
      ...{ id: randomUUID(), workspaceId, name, url: 'https://crm.example/', concurrency: 1 },
      secret: new Uint8Array(1),
      events: ['lead.created'],
    })),
  });
  expect(await statementsOf(people(3_000, 20))).toEqual(without);
  expect(await store.prisma.delivery.count()).toBe(40);
});
