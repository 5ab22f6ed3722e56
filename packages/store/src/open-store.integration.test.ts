import { testDatabase } from '@leadgate/testkit';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { failureOf } from './failure-of.ts';
import { openStore, type Store, type StoreOptions } from './open-store.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let admin: pg.Client;
const opened: Store[] = [];

beforeAll(async () => {
  database = await testDatabase();
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
});

afterEach(() => Promise.all(opened.splice(0).map((store) => store.close())));

afterAll(async () => {
  await admin.end();
  await database.drop();
});

function open(options: Partial<StoreOptions> = {}): Store {
  const store = openStore({ url: database.url, poolSize: 2, ...options });
  opened.push(store);
  return store;
}

/** Ends every connection but ours, as a restart of Postgres does. */
const breakConnections = () =>
  admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
               WHERE datname = current_database() AND pid <> pg_backend_pid()`);

async function failure(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: unknown) => failureOf(error),
  );
}

test('a session is in UTC with its own options kept, and is not asked for them behind PgBouncer', async () => {
  const settings = async (query: string) => {
    const [row] = await open({ url: `${database.url}${query}` }).prisma.$queryRaw<[object]>`
      SELECT current_setting('TimeZone') AS zone, current_setting('work_mem') AS memory,
             current_setting('statement_timeout') AS timeout`;
    return row;
  };
  await admin.query(`DO $$ BEGIN EXECUTE
    format('ALTER DATABASE %I SET timezone = ''America/Recife''', current_database()); END $$`);
  expect(await settings('')).toMatchObject({ zone: 'UTC', timeout: '8s' });
  expect(await settings('?options=-c%20work_mem%3D9MB')).toMatchObject({
    zone: 'UTC',
    memory: '9MB',
  });
  expect(await settings('?pgbouncer=true')).toMatchObject({ zone: 'America/Recife', timeout: '0' });
});

test('a time is stored as the instant it is', async () => {
  const at = new Date('2026-01-31T23:30:00.123Z');
  const id = '00000000-0000-4000-8000-000000000001';
  await open().prisma.workspace.create({ data: { id, name: 'time', createdAt: at } });
  const { rows } = await admin.query<{ epoch: number }>(
    'SELECT extract(epoch FROM created_at)::float8 AS epoch FROM workspace WHERE id = $1',
    [id],
  );
  expect(rows[0]?.epoch).toBe(at.getTime() / 1_000);
});

test('a connection that breaks in the middle means to wait, and the next statement finds a new one', async () => {
  const warn = vi.fn();
  const { prisma } = open({ logger: { warn } });
  const working = prisma.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT 1`;
    await breakConnections();
    await tx.$queryRaw`SELECT 1`;
  });
  expect(await failure(working)).toBe('unavailable');
  expect(await prisma.$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  await breakConnections();
  await vi.waitFor(() =>
    expect(warn).toHaveBeenCalledWith({ code: '57P01' }, 'an idle connection to Postgres broke'),
  );
  expect(await prisma.$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }]);
});

test.each(['a statement', 'a transaction'] as const)(
  'a Postgres that stops as it lets %s in ends no process',
  async (what) => {
    const { hostname, port } = new URL(database.url);
    const server = createServer((client) => {
      const postgres = connect(Number(port), hostname);
      const held: Buffer[] = [];
      client.on('error', () => undefined).pipe(postgres);
      postgres.on('data', (bytes: Buffer) => {
        // ReadyForQuery, and what comes next, are read at once, as a process does that was busy.
        if (held.length === 0 && bytes.subarray(-6, -1).toString('hex') !== '5a00000005')
          return client.write(bytes);
        if (held.push(bytes) === 1) void breakConnections();
      });
      postgres.on('close', () => client.end(Buffer.concat(held)));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = new URL(database.url);
    url.port = String((server.address() as AddressInfo).port);
    const store = open({ url: url.href });
    const asked =
      what === 'a statement'
        ? store.prisma.$queryRaw`SELECT 1`
        : store.transaction((tx) => tx.$queryRaw`SELECT 1`);
    expect(await failure(asked)).toBe('unavailable');
    server.close();
  },
);

test('a Postgres that is not there means to wait', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const url = `postgresql://nobody@127.0.0.1:${address.port}/leadgate`;
  const { prisma } = open({ url });
  const inTransaction = () => prisma.$transaction((tx) => tx.$queryRaw`SELECT 1`);
  expect(await failure(prisma.$queryRaw`SELECT 1`)).toBe('unavailable');
  expect(await failure(inTransaction())).toBe('unavailable');
  server.close();
  await once(server, 'close');
  expect(await failure(prisma.$queryRaw`SELECT 1`)).toBe('unavailable');
  expect(await failure(inTransaction())).toBe('unavailable');
});

test('a database or a table that is not there yet means to wait', async () => {
  const url = new URL(database.url);
  url.pathname = '/nowhere';
  const { prisma } = open({ url: url.href });
  expect(await failure(prisma.$queryRaw`SELECT 1`)).toBe('unavailable');
  expect(await failure(prisma.lead.findFirst())).toBe('unavailable');
  expect(await failure(open().prisma.$queryRaw`SELECT 1 FROM not_migrated_yet`)).toBe(
    'unavailable',
  );
});

test('a statement that takes too long is ended', async () => {
  const { prisma } = open({ statementTimeoutMs: 50 });
  expect(await failure(prisma.$queryRaw`SELECT pg_sleep(10)::text`)).toBe('unavailable');
});

test('a process that is stopped in the middle of a transaction does not keep its rows', async () => {
  const { prisma } = open({ statementTimeoutMs: 100 });
  const stalled = prisma.$transaction(
    async (tx) => {
      await tx.$executeRaw`UPDATE directory_revision SET revision = revision`;
      await admin.query('UPDATE directory_revision SET revision = revision');
      await tx.$queryRaw`SELECT 1`;
    },
    { timeout: 10_000 },
  );
  expect(await failure(stalled)).toBe('unavailable');
});

test('a transaction that finds no free connection means to wait', async () => {
  const { prisma } = open({ poolSize: 1 });
  await prisma.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT 1`;
    const second = prisma.$transaction((other) => other.$queryRaw`SELECT 1`, { maxWait: 50 });
    expect(await failure(second)).toBe('unavailable');
  });
});

test('a connection that is gone at the commit means to wait', async () => {
  const { prisma } = open({ poolSize: 1 });
  const atCommit = prisma.$transaction(async (tx) => {
    await tx.$queryRaw`SELECT 1`;
    await breakConnections();
  });
  expect(await failure(atCommit)).toBe('unavailable');
});
