import { StoreError, withoutValues } from './failure-of.ts';
import type { Store } from './open-store.ts';

/**
 * Resolves where Postgres answers and takes writes. Rejects with a StoreError (`unavailable`) where
 * it does not: away, starting, out of connections, a standby, or set read-only.
 */
export async function requireWritable(store: Store): Promise<void> {
  const readOnly = await askReadOnly(store);
  // As a write would be refused: read_only_sql_transaction.
  if (readOnly) throw new StoreError('unavailable', '25006');
}

async function askReadOnly(store: Store): Promise<boolean> {
  try {
    const [row] = await store.prisma.$queryRaw<{ readOnly: boolean }[]>`
      SELECT current_setting('transaction_read_only')::boolean AS "readOnly"`;
    return row?.readOnly ?? false;
  } catch (error) {
    throw withoutValues(error);
  }
}
