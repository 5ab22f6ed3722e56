import type { CustomFieldType } from '@leadgate/contract';
import { testDatabase } from '@leadgate/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { randomUUID } from 'node:crypto';
import { archiveField, createField, listFields, renameField } from './fields.ts';
import { openStore, type Store } from './open-store.ts';

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

async function workspace(): Promise<string> {
  const id = randomUUID();
  await store.prisma.workspace.create({ data: { id, name: id } });
  return id;
}

function create(workspaceId: string, name: string, type: CustomFieldType = 'text', options = []) {
  return createField(store, workspaceId, { name, label: name, type, options });
}

async function created(workspaceId: string, name: string) {
  const outcome = await create(workspaceId, name);
  if (outcome.kind !== 'created') throw new Error(outcome.kind);
  return outcome.field;
}

test('fields are listed in the order of their creation, archived ones too', async () => {
  const workspaceId = await workspace();
  const plan = await createField(store, workspaceId, {
    name: 'plan',
    label: 'Plano',
    type: 'select',
    options: ['Básico', 'Ouro'],
  });
  const income = await created(workspaceId, 'income');
  await archiveField(store, income.id);
  expect(plan.kind).toBe('created');
  expect(await listFields(store, workspaceId)).toMatchObject([
    { name: 'plan', label: 'Plano', type: 'select', options: ['Básico', 'Ouro'], archived: false },
    { name: 'income', archived: true },
  ]);
});

test('a name that a body could not tell from another is refused, an archived one included', async () => {
  const workspaceId = await workspace();
  const field = await created(workspaceId, 'Plano');
  await archiveField(store, field.id);
  expect(await create(workspaceId, 'PLANO')).toMatchObject({
    kind: 'name-taken',
    by: { id: field.id, archived: true },
  });
  expect(await create(await workspace(), 'PLANO')).toMatchObject({ kind: 'created' });
});

test('of many at once whose names fold to the same key, one is created', async () => {
  const workspaceId = await workspace();
  const names = ['plan', 'Plan', 'PLAN', 'pLan', 'plAn', 'plaN'];
  const outcomes = await Promise.all(names.map((name) => create(workspaceId, name)));
  expect(outcomes.filter(({ kind }) => kind === 'created')).toHaveLength(1);
  expect(await listFields(store, workspaceId)).toHaveLength(1);
});

test('a field of no workspace is refused', async () => {
  expect(await create(randomUUID(), 'plan')).toEqual({ kind: 'unknown-workspace' });
});

test.each<[string, CustomFieldType, string[], string]>([
  ['a select without options', 'select', [], '/options'],
  ['options for a text', 'text', ['a'], '/options'],
  ['a blank option', 'select', ['a', ' '], '/options/1'],
  ['an option twice', 'multi-select', ['a', 'b', 'a '], '/options/2'],
])('%s is refused', async (_, type, options, pointer) => {
  const input = { name: 'plan', label: 'Plan', type, options };
  expect(await createField(store, await workspace(), input)).toMatchObject({
    kind: 'invalid',
    errors: [{ pointer }],
  });
});

test('a field can be renamed and relabelled, and its own name in another case is free', async () => {
  const workspaceId = await workspace();
  const { id } = await created(workspaceId, 'plan');
  await created(workspaceId, 'income');
  expect(await renameField(store, id, { name: 'Plan' })).toMatchObject({
    kind: 'renamed',
    field: { id, name: 'Plan', label: 'plan' },
  });
  expect(await renameField(store, id, { label: 'Plano' })).toMatchObject({
    kind: 'renamed',
    field: { name: 'Plan', label: 'Plano' },
  });
  expect(await renameField(store, id, { name: 'INCOME' })).toMatchObject({
    kind: 'name-taken',
    by: { name: 'income' },
  });
  expect(await renameField(store, id, { label: ' ' })).toMatchObject({ kind: 'invalid' });
  expect(await renameField(store, randomUUID(), { name: 'x' })).toEqual({
    kind: 'unknown-field',
  });
});

test('archiving again keeps the first time, and no field is a null', async () => {
  const { id } = await created(await workspace(), 'plan');
  await archiveField(store, id);
  const { archivedAt } = await store.prisma.customField.findUniqueOrThrow({ where: { id } });
  expect(await archiveField(store, id)).toMatchObject({ id, archived: true });
  const after = await store.prisma.customField.findUniqueOrThrow({ where: { id } });
  expect(after.archivedAt).toEqual(archivedAt);
  expect(await archiveField(store, randomUUID())).toBeNull();
});
