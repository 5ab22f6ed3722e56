import { testDatabase } from '@leadgate/testkit';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { createHash } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Prisma } from './generated/client.ts';
import { migrate, MigrationError } from './migrate.ts';
import { openStore } from './open-store.ts';

const real = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));

let database: Awaited<ReturnType<typeof testDatabase>>;
let client: pg.Client;
let directory: string;

beforeAll(async () => {
  database = await testDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

beforeEach(async () => {
  await client.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
  directory = await mkdtemp(join(tmpdir(), 'migrations-'));
});

afterEach(() => rm(directory, { recursive: true }));

const run = () => migrate(database.url, { directory });

async function write(name: string, sql: string): Promise<void> {
  await mkdir(join(directory, name), { recursive: true });
  await writeFile(join(directory, name, 'migration.sql'), sql);
}

async function record() {
  const { rows } = await client.query<Record<string, unknown>>(
    'SELECT * FROM _prisma_migrations ORDER BY started_at',
  );
  return rows;
}

test('an empty database gets every migration, by name, and a second run nothing', async () => {
  await cp(real, directory, { recursive: true });
  const { applied } = await run();
  expect(applied.length).toBeGreaterThan(0);
  expect(applied).toEqual(applied.toSorted());
  expect(await run()).toEqual({ applied: [] });
  const sql = await readFile(join(directory, applied[0] ?? '', 'migration.sql'));
  expect((await record())[0]).toEqual({
    id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
    checksum: createHash('sha256').update(sql).digest('hex'),
    started_at: expect.any(Date) as Date,
    finished_at: expect.any(Date) as Date,
    migration_name: applied[0],
    logs: null,
    rolled_back_at: null,
    applied_steps_count: 1,
  });
});

test('the client and the migrations speak of the same tables and columns', async () => {
  await migrate(database.url, { directory: real });
  const store = openStore({ url: database.url, poolSize: 1 });
  try {
    const { rows } = await client.query<{ name: string }>(
      `SELECT table_name || '.' || column_name AS name FROM information_schema.columns
       WHERE table_schema = 'public' AND table_name NOT IN ('_prisma_migrations')
         AND table_name NOT IN (SELECT inhrelid::regclass::text FROM pg_inherits)`,
    );
    const models = Object.keys(Prisma.ModelName) as (keyof typeof Prisma.ModelName)[];
    const columns: string[] = [];
    for (const model of models) {
      const fields = Reflect.get(Prisma, `${model}ScalarFieldEnum`) as Record<string, string>;
      for (const field of Object.keys(fields)) columns.push(`${snake(model)}.${snake(field)}`);
      const delegate = Reflect.get(store.prisma, model[0]?.toLowerCase() + model.slice(1)) as {
        findFirst: () => Promise<unknown>;
      };
      await delegate.findFirst();
    }
    expect(columns.sort()).toEqual(rows.map(({ name }) => name).sort());
  } finally {
    await store.close();
  }
});

const snake = (name: string) =>
  name.replace(/(?<=.)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();

test('processes that start at once apply each migration once', async () => {
  await write('1_one', 'CREATE TABLE one (id int); SELECT pg_sleep(0.05)');
  await write('2_two', 'CREATE TABLE two (id int)');
  const runs = await Promise.all([run(), run(), run()]);
  expect(runs.flatMap(({ applied }) => applied)).toEqual(['1_one', '2_two']);
});

test('a migration that fails leaves nothing, keeps those before it, and applies once mended', async () => {
  await write('1_one', 'CREATE TABLE one (id int)');
  await write('2_two', 'CREATE TABLE two (id int); SELECT nonsense');
  const error: unknown = await run().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(MigrationError);
  expect(String(error)).toMatch(/2_two failed: column "nonsense" does not exist/);
  expect(await record()).toHaveLength(1);
  await write('2_two', 'CREATE TABLE two (id int)');
  expect(await run()).toEqual({ applied: ['2_two'] });
});

test('a migration that was edited after it was applied is refused; other line endings are not', async () => {
  await write('1_one', 'CREATE TABLE one (\nid int);\n');
  await run();
  await write('1_one', 'CREATE TABLE one (\r\nid int);\r\n');
  expect(await run()).toEqual({ applied: [] });
  await write('1_one', 'CREATE TABLE one (\nid bigint);\n');
  await write('2_two', 'CREATE TABLE two (id int)');
  await expect(run()).rejects.toThrow(/1_one was edited after it had been applied/);
  expect(await record()).toHaveLength(1);
});

test('a failure that prisma migrate recorded is refused until it is resolved', async () => {
  await write('1_one', 'CREATE TABLE one (id int)');
  await run();
  await client.query('UPDATE _prisma_migrations SET finished_at = NULL');
  await write('2_two', 'CREATE TABLE two (id int)');
  await expect(run()).rejects.toThrow(/1_one failed earlier.*prisma migrate resolve/);
  await client.query('UPDATE _prisma_migrations SET rolled_back_at = now()');
  await client.query('DROP TABLE one');
  expect(await run()).toEqual({ applied: ['1_one', '2_two'] });
});

test('a migration that only the database knows is left alone', async () => {
  await write('1_one', 'CREATE TABLE one (id int)');
  await write('9_newer', 'CREATE TABLE nine (id int)');
  await run();
  await rm(join(directory, '9_newer'), { recursive: true });
  expect(await run()).toEqual({ applied: [] });
});

test('a database that does not exist is named', async () => {
  const url = new URL(database.url);
  url.pathname = '/nowhere';
  await expect(migrate(url.href, { directory })).rejects.toThrow(
    'The database "nowhere" does not exist.',
  );
});
