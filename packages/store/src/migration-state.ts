import { readdir } from 'node:fs/promises';
import type { Store } from './open-store.ts';

export interface MigrationState {
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
  const record = await readRecord(store);
  const done = new Set(record.filter(({ finished }) => finished).map(({ name }) => name));
  return {
    pending: names.filter((name) => !done.has(name)).sort(),
    failed: record.filter(({ finished }) => !finished).map(({ name }) => name),
    unknown: [...done].filter((name) => !names.includes(name)).sort(),
  };
}

async function readRecord(store: Store): Promise<{ name: string; finished: boolean }[]> {
  const [table] = await store.prisma.$queryRaw<{ exists: boolean }[]>`
    SELECT to_regclass('_prisma_migrations') IS NOT NULL AS exists`;
  if (table?.exists !== true) return [];
  return store.prisma.$queryRaw`
    SELECT migration_name AS name, finished_at IS NOT NULL AS finished
    FROM _prisma_migrations WHERE rolled_back_at IS NULL`;
}
