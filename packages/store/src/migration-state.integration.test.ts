import { testDatabase } from '@leadgate/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate, migrationState } from './migrate.ts';
import { openStore, type Store } from './open-store.ts';

const real = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));
let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let folder: string;

beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 2 });
  folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  await cp(real, folder, { recursive: true });
});

afterAll(async () => {
  await store.close();
  await database.drop();
  await rm(folder, { recursive: true });
});

test('a database tells what it lacks, and what only it has', async () => {
  await mkdir(join(folder, '99999999999999_later'));
  await writeFile(join(folder, '99999999999999_later', 'migration.sql'), 'SELECT 1');
  const before = await migrationState(store, folder);
  expect(before.pending).toContain('99999999999999_later');

  await store.prisma.$executeRaw`DROP SCHEMA public CASCADE`;
  await store.prisma.$executeRaw`CREATE SCHEMA public`;
  expect((await migrationState(store, real)).pending).not.toEqual([]);
  await migrate(database.url, { directory: folder });
  expect(await migrationState(store, folder)).toEqual({ pending: [], failed: [], unknown: [] });
  expect(await migrationState(store, real)).toEqual({
    pending: [],
    failed: [],
    unknown: ['99999999999999_later'],
  });
});

test('a migration that failed half-way is told', async () => {
  await migrate(database.url, { directory: folder });
  await store.prisma.$executeRaw`
    UPDATE _prisma_migrations SET finished_at = NULL WHERE migration_name LIKE '9999%'`;
  expect(await migrationState(store, folder)).toMatchObject({
    pending: ['99999999999999_later'],
    failed: ['99999999999999_later'],
  });
});
