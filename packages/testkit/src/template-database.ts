import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { migrate } from '@leadgate/store';
import type pg from 'pg';
import { withPostgres } from '../../../scripts/servers/session.js';
import { databaseUrl } from './test-database.ts';

const migrations = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));

/** The lock that runs beside each other take on one server while one of them makes the template. */
const TEMPLATE_LOCK = 7_205_113;

/** How long a test's database that nobody dropped (its run was killed) is left standing. */
const LEFTOVER_AGE_MS = 60 * 60 * 1000;

/**
 * Makes the migrated database that tests clone, unless one of the same migrations stands, and
 * returns its name. Also drops databases that killed runs left behind.
 */
export async function makeTemplate(adminUrl: string): Promise<string> {
  const name = `leadgate_template_${migrationsHash()}`;
  await withPostgres(adminUrl, async (admin) => {
    await admin.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    await dropLeftovers(admin);
    const found = await admin.query('SELECT FROM pg_database WHERE datname = $1', [name]);
    if (found.rowCount === 0) {
      // Renamed only when it is whole: a run killed in between leaves no half template.
      const unfinished = `${name}_unfinished`;
      await admin.query(`DROP DATABASE IF EXISTS ${unfinished} WITH (FORCE)`);
      await admin.query(`CREATE DATABASE ${unfinished} TEMPLATE template0 ENCODING 'UTF8'`);
      await migrate(databaseUrl(adminUrl, unfinished), { directory: migrations });
      await admin.query(`ALTER DATABASE ${unfinished} RENAME TO ${name}`);
    }
  });
  return name;
}

async function dropLeftovers(admin: pg.Client): Promise<void> {
  const { rows } = await admin.query<{ datname: string }>(
    `SELECT datname FROM pg_database WHERE datname LIKE 'leadgate\\_test\\_%'`,
  );
  for (const { datname } of rows) {
    const madeAt = Number(datname.split('_')[2]);
    if (Date.now() - madeAt > LEFTOVER_AGE_MS)
      await admin.query(`DROP DATABASE IF EXISTS ${datname} WITH (FORCE)`);
  }
}

/** Of their names and texts: another migration, another template. */
function migrationsHash(): string {
  const hash = createHash('sha256');
  for (const name of readdirSync(migrations).sort()) {
    const path = join(migrations, name, 'migration.sql');
    if (existsSync(path)) hash.update(name).update('\0').update(readFileSync(path)).update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}
