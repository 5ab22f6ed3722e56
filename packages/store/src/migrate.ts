import pg from 'pg';
import { createHash, randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from './open-store.ts';

/** A database that cannot be migrated as it is; the message says what to do. */
export class MigrationError extends Error {
  override readonly name = 'MigrationError';
}

interface Migration {
  name: string;
  sql: string;
}

interface MigrationRow {
  name: string;
  checksum: string;
  finished: boolean;
}

/** The advisory lock that `prisma migrate` takes, so that the two exclude each other. */
const MIGRATE_LOCK = 72_707_369;

/** As `prisma migrate` creates it. */
const MIGRATIONS_TABLE = `
  CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id varchar(36) PRIMARY KEY NOT NULL,
    checksum varchar(64) NOT NULL,
    finished_at timestamptz,
    migration_name varchar(255) NOT NULL,
    logs text,
    rolled_back_at timestamptz,
    started_at timestamptz NOT NULL DEFAULT now(),
    applied_steps_count integer NOT NULL DEFAULT 0
  )`;

/** The role of the processes, if the one that migrates is another: deploy/postgres/roles.sql. */
const APPLICATION = 'leadgate_app';

/**
 * Rows and nothing else, of tables to come too. How an action ended is added to an entry of the audit
 * log, which is else left as it is.
 */
const RIGHTS = `
  GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ${APPLICATION};
  ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ${APPLICATION};
  REVOKE INSERT, UPDATE, DELETE ON _prisma_migrations FROM ${APPLICATION};
  REVOKE UPDATE, DELETE ON audit_entry FROM ${APPLICATION};
  GRANT UPDATE (outcome) ON audit_entry TO ${APPLICATION};
  REVOKE UPDATE, DELETE ON person_read FROM ${APPLICATION};
  GRANT EXECUTE ON FUNCTION make_partition, drop_partition, keep_reads TO ${APPLICATION}`;

/**
 * Applies the migrations of a directory (`<name>/migration.sql`, by name) that the database does
 * not have, each in a transaction of its own, and keeps the record that `prisma migrate deploy`
 * keeps. Processes that start at once take turns. Migrations that only the database knows are left
 * alone: a newer version made them.
 *
 * Needs a connection of its own: not through a PgBouncer that pools transactions, where the lock
 * would not hold. Returns the names applied. Throws a MigrationError that says what to do when the database does
 * not exist, an applied migration was edited, an earlier one failed, or one fails now (nothing of
 * it stays).
 */
export async function migrate(
  url: string,
  options: { directory: string },
): Promise<{ applied: string[] }> {
  const migrations = await readMigrations(options.directory);
  const client = await connect(url);
  try {
    await client.query('SELECT pg_advisory_lock($1)', [MIGRATE_LOCK]);
    await client.query('SET client_min_messages = warning');
    await client.query(MIGRATIONS_TABLE);
    const missing = pending(migrations, await readRecord(client));
    for (const migration of missing) await applyMigration(client, migration);
    await giveRights(client);
    return { applied: missing.map(({ name }) => name) };
  } finally {
    await client.end();
  }
}

async function giveRights(client: pg.Client): Promise<void> {
  const { rowCount } = await client.query(
    'SELECT FROM pg_roles WHERE rolname = $1 AND rolname <> current_user',
    [APPLICATION],
  );
  if (rowCount === 0) return;
  await client.query(RIGHTS);
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  // A connection that breaks fails the statement that runs; unheard, it would end the process.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === '3D000') {
      const name = client.database ?? '';
      throw new MigrationError(
        `The database "${name}" does not exist. Create it (createdb ${name}) or name another one.`,
      );
    }
    throw error;
  }
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  return Promise.all(
    names.sort().map(async (name) => {
      const sql = await readFile(join(directory, name, 'migration.sql'), 'utf8');
      return { name, sql };
    }),
  );
}

async function readRecord(client: pg.Client): Promise<MigrationRow[]> {
  const { rows } = await client.query<MigrationRow>(`
    SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
    FROM _prisma_migrations WHERE rolled_back_at IS NULL ORDER BY started_at`);
  return rows;
}

function pending(migrations: Migration[], record: MigrationRow[]): Migration[] {
  const failed = record.find(({ finished }) => !finished);
  if (failed !== undefined)
    throw new MigrationError(
      `Migration ${failed.name} failed earlier and may have been applied in part. ` +
        'Mend the database by hand, then mark it with `prisma migrate resolve`.',
    );
  return migrations.filter((migration) => {
    const applied = record.find(({ name }) => name === migration.name);
    if (applied === undefined) return true;
    if (checksums(migration.sql).includes(applied.checksum)) return false;
    throw new MigrationError(
      `Migration ${migration.name} was edited after it had been applied to this database. ` +
        'Restore the file, or start from an empty database.',
    );
  });
}

async function applyMigration(client: pg.Client, { name, sql }: Migration): Promise<void> {
  const startedAt = new Date();
  try {
    await client.query('BEGIN');
    await client.query(sql);
    await client.query(
      `INSERT INTO _prisma_migrations
         (id, checksum, started_at, finished_at, migration_name, applied_steps_count)
       VALUES ($1, $2, $3, clock_timestamp(), $4, 1)`,
      [randomUUID(), checksum(sql), startedAt, name],
    );
    await client.query('COMMIT');
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    await client.query('ROLLBACK');
    throw new MigrationError(`Migration ${name} failed: ${error.message}`, { cause: error });
  }
}

function checksum(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A checkout may change the line endings; `prisma migrate` takes either, and so does this. */
function checksums(sql: string): string[] {
  const unix = sql.replaceAll('\r\n', '\n');
  return [sql, unix, unix.replaceAll('\n', '\r\n')].map(checksum);
}

interface MigrationState {
  /** In the directory and not applied, by name. */
  pending: string[];
  /** Begun and neither finished nor resolved. */
  failed: string[];
  /** Applied by a newer version: not in the directory. */
  unknown: string[];
}

/**
 * How a database stands to the migrations of a directory (`<name>/migration.sql`). Changes nothing.
 */
export async function migrationState(store: Store, directory: string): Promise<MigrationState> {
  const entries = await readdir(directory, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const record = await stepsOf(store);
  const done = new Set(record.filter(({ finished }) => finished).map(({ name }) => name));
  return {
    pending: names.filter((name) => !done.has(name)).sort(),
    failed: record.filter(({ finished }) => !finished).map(({ name }) => name),
    unknown: [...done].filter((name) => !names.includes(name)).sort(),
  };
}

async function stepsOf(store: Store): Promise<{ name: string; finished: boolean }[]> {
  const [table] = await store.prisma.$queryRaw<{ exists: boolean }[]>`
    SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists`;
  if (table?.exists !== true) return [];
  return store.prisma.$queryRaw`
    SELECT migration_name AS name, finished_at IS NOT NULL AS finished
    FROM _prisma_migrations WHERE rolled_back_at IS NULL`;
}
