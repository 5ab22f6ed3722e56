import { withoutValues } from './failure-of.ts';
import type { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import type { Statements } from './statements.ts';

/** The tables that hold what their rows' ids say was received in a month. */
export type Partitioned = 'submission' | 'rejected_submission';

/** A worker that is away for less finds its months made. */
const MONTHS_AHEAD = 2;

/** Any number: the workers take turns under it. */
const PARTITIONS_LOCK = 72_707_370;

interface Partition {
  name: string;
  /** Its lowest id, and the lowest above it; null: none is lower. */
  from: string | null;
  to: string;
}

/** The names of the partitions of a table. */
export async function listPartitions(
  db: Pick<Statements, '$queryRaw'>,
  table: Partitioned,
): Promise<string[]> {
  const rows = await db.$queryRaw<{ name: string }[]>`
    SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = ${table}::regclass ORDER BY c.relname`;
  return rows.map(({ name }) => name);
}

/**
 * Makes the partitions of a table that are missing up to two months from a moment, and returns their
 * names: months without a gap since the first one that was made, and before it `<table>_past`, where
 * imported rows of earlier times go. The default partition stays for what fits nowhere: a month that
 * was dropped, or one that a sender's clock runs ahead to. Were it full, each new partition would
 * have it searched under a lock.
 *
 * Rejects with a StoreError, of the code 55P03 when the table could not be had for a moment.
 */
export async function makePartitions(
  store: Store,
  table: Partitioned,
  now: Date,
): Promise<string[]> {
  const missing = missingPartitions(table, await listPartitions(store.prisma, table), now);
  for (const partition of missing)
    await withTableLock(store, async (tx) => {
      // Another worker may have made it while this one waited.
      if ((await listPartitions(tx, table)).includes(partition.name)) return;
      const { name, from, to } = partition;
      await tx.$executeRaw`SELECT make_partition(${table}, ${name}, ${from}::uuid, ${to}::uuid)`;
    });
  return missing.map(({ name }) => name);
}

function missingPartitions(table: Partitioned, existing: string[], now: Date): Partition[] {
  const last = monthOf(now) + MONTHS_AHEAD;
  const made = existing.map(monthOfName).filter((month) => month !== null);
  if (made.length > 0) return monthsOf(table, Math.max(...made) + 1, last);
  const first = monthOf(now);
  const past = { name: `${table}_past`, from: null, to: firstIdAt(startOfMonth(first)) };
  return [...(existing.includes(past.name) ? [] : [past]), ...monthsOf(table, first, last)];
}

function monthsOf(table: Partitioned, first: Month, last: Month): Partition[] {
  const months = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
  return months.map((month) => ({
    name: `${table}_${nameOfMonth(month)}`,
    from: firstIdAt(startOfMonth(month)),
    to: firstIdAt(startOfMonth(month + 1)),
  }));
}

/**
 * Runs a transaction that needs a table for itself for a moment. While it waits for those that use
 * the table, all who come later wait behind it: so it gives up soon, to be tried again (a
 * StoreError of the code 55P03), and everything it does is bounded in time. Processes take turns.
 */
export async function withTableLock<T>(
  store: Store,
  run: (tx: Prisma.TransactionClient) => Promise<T>,
): Promise<T> {
  try {
    return await store.prisma.$transaction(async (tx) => {
      await tx.$executeRaw`SET LOCAL lock_timeout = '250ms'`;
      await tx.$executeRaw`SET LOCAL statement_timeout = '5s'`;
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(${PARTITIONS_LOCK})`;
      return run(tx);
    });
  } catch (error) {
    throw withoutValues(error);
  }
}

/** A month of UTC, counted from January 1970. */
type Month = number;

/** The month that a moment is in. */
export const monthOf = (moment: Date): Month =>
  (moment.getUTCFullYear() - 1970) * 12 + moment.getUTCMonth();

/** The moment that a month begins. */
export const startOfMonth = (month: Month): Date => new Date(Date.UTC(1970, month));

/** `2026_12`, as partitions are named. */
export const nameOfMonth = (month: Month): string =>
  startOfMonth(month).toISOString().slice(0, 7).replace('-', '_');

/** The month that a partition is named after; null for one that is named after none. */
export function monthOfName(partition: string): Month | null {
  const [, year, month] = /_(\d{4})_(0[1-9]|1[0-2])$/.exec(partition) ?? [];
  return year === undefined ? null : (Number(year) - 1970) * 12 + Number(month) - 1;
}

/** The lowest UUIDv7 (RFC 9562) of a moment: they begin with its milliseconds since 1970. */
export function firstIdAt(moment: Date): string {
  const time = moment.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}
