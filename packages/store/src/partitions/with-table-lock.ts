import { withoutValues } from '../failure-of.ts';
import type { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';

/** Any number: the workers take turns under it. */
const PARTITIONS_LOCK = 72_707_370;

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
