import { testDatabase } from '@leadgate/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { openStore, type Store } from './open-store.ts';
import { createWorkspace, listWorkspaces, updateWorkspace } from './workspaces.ts';

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
const create = (name: string, country = 'BR') =>
  createWorkspace(store, { name, country, dummyPhones: ['+5511900000000'] });

test('a workspace is listed as it was created', async () => {
  const created = await create('  Construtora Sa\u0303o João ');
  expect(created).toMatchObject({
    kind: 'created',
    workspace: {
      name: 'Construtora São João',
      country: 'BR',
      dummyPhones: ['+5511900000000'],
    },
  });
  if (created.kind !== 'created') throw new Error('not created');
  expect(await listWorkspaces(store)).toContainEqual(created.workspace);
});

test('what identifies nobody is changed by what is named, and only to classes that there are', async () => {
  const outcome = await create('Changed');
  if (outcome.kind !== 'created') throw new Error('not created');
  const { id } = outcome.workspace;
  expect(outcome.workspace.dummyClasses).toEqual([]);
  const changed = await updateWorkspace(store, id, { dummyClasses: ['repeated'] });
  expect(changed).toEqual({ ...outcome.workspace, dummyClasses: ['repeated'] });
  const unlisted = await updateWorkspace(store, id, { dummyPhones: [] });
  expect(unlisted).toEqual({ ...changed, dummyPhones: [] });
  expect(await updateWorkspace(store, randomUUID(), { dummyPhones: [] })).toBeNull();
  await expect(
    updateWorkspace(store, id, { dummyClasses: ['other' as 'repeated'] }),
  ).rejects.toThrow();
});

test('of many at once with one name, one is created', async () => {
  const outcomes = await Promise.all(Array.from({ length: 8 }, () => create('Race')));
  expect(outcomes.filter(({ kind }) => kind === 'created')).toHaveLength(1);
  expect(outcomes.filter(({ kind }) => kind === 'name-taken')).toHaveLength(7);
});

test('every fault is named at once', async () => {
  const outcome = await create(' ', 'ZZ');
  expect(outcome).toMatchObject({
    kind: 'invalid',
    errors: [{ pointer: '/name' }, { pointer: '/country' }],
  });
});

test.each([
  ['blank', ' \t '],
  ['an escape sequence', 'a\u001b[31mb'],
  ['a line break', 'a\nb'],
  ['NUL, which Postgres refuses', 'a\0b'],
  ['a lone surrogate, which Postgres refuses', 'a\ud800'],
  ['a bidi override', 'a\u202eb'],
  ['what looks like an id', '7c9e6679-7425-40de-944b-e07fc1f90ae7'],
  ['201 characters', 'x'.repeat(201)],
])('a name that is %s is refused', async (_, name) => {
  expect(await create(name)).toMatchObject({ kind: 'invalid', errors: [{ pointer: '/name' }] });
});
