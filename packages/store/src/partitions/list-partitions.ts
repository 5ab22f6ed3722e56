import type { Prisma } from '../generated/client.ts';

/** The tables that hold what their rows' ids say was received in a month. */
export type Partitioned = 'submission' | 'rejected_submission';

/** The names of the partitions of a table. */
export async function listPartitions(
  db: Pick<Prisma.TransactionClient, '$queryRaw'>,
  table: Partitioned,
): Promise<string[]> {
  const rows = await db.$queryRaw<{ name: string }[]>`
    SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = ${table}::regclass ORDER BY c.relname`;
  return rows.map(({ name }) => name);
}
