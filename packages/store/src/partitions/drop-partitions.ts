import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';
import { listPartitions, type Partitioned } from './list-partitions.ts';
import { monthOfName, startOfMonth } from './month.ts';
import { withTableLock } from './with-table-lock.ts';

/**
 * Drops the partitions of the months that ended before a moment, and returns their names. Each takes
 * the table for itself for as long as the catalogue takes, and the disk is freed after that.
 * (DETACH … CONCURRENTLY, which would not, Postgres refuses where there is a default partition.)
 *
 * Rejects with a StoreError, of the code 55P03 when the table could not be had for a moment.
 */
export async function dropPartitions(
  store: Store,
  table: Partitioned,
  before: Date,
): Promise<string[]> {
  const ended = (await listPartitions(store.prisma, table)).filter((name) => {
    const month = monthOfName(name);
    return month !== null && startOfMonth(month + 1) <= before;
  });
  for (const name of ended)
    await withTableLock(store, (tx) => tx.$executeRaw`DROP TABLE IF EXISTS ${Prisma.raw(name)}`);
  return ended;
}
