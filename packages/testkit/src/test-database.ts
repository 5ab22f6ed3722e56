import { randomBytes } from 'node:crypto';
import type pg from 'pg';
import { expect, inject, vi } from 'vitest';
import { withPostgres } from '../../../scripts/servers/session.js';

/** The same server's URL with another database. */
export function databaseUrl(url: string, database: string): string {
  const other = new URL(url);
  other.pathname = `/${database}`;
  return other.href;
}

/**
 * A fresh, migrated database of one's own, cloned from the run's template (about 50 ms). `drop` ends
 * whatever is still connected to it.
 */
export async function testDatabase(): Promise<{ url: string; drop: () => Promise<void> }> {
  const execute = async (statement: string) => {
    await withPostgres(inject('databaseUrl'), (admin) => admin.query(statement));
  };
  // It carries the time, by which the next run knows what nobody dropped.
  const name = `leadgate_test_${Date.now()}_${randomBytes(6).toString('hex')}`;
  // Files as they are, and not each page by way of the WAL: half the CPU, making and dropping it.
  const template = inject('templateDatabase');
  await execute(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  return {
    url: databaseUrl(inject('storeUrl'), name),
    drop: () => execute(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  };
}

/**
 * Waits until at least so many sessions of a client's database wait for a lock. The client may be the one that
 * holds it: a transaction sees the sessions that there were when it first asked, unless it forgets them.
 */
export async function untilBlocked(client: pg.Client, sessions = 1): Promise<void> {
  await vi.waitFor(
    async () => {
      await client.query('SELECT pg_stat_clear_snapshot()');
      const { rowCount } = await client.query(
        `SELECT FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      );
      expect(rowCount).toBeGreaterThanOrEqual(sessions);
    },
    { timeout: 5_000, interval: 10 },
  );
}
