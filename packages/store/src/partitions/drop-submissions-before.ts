import { withoutValues } from '../failure-of.ts';
import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';
import { deleteInBatches } from './delete-in-batches.ts';
import { dropPartitions } from './drop-partitions.ts';
import { listPartitions } from './list-partitions.ts';
import { firstIdAt } from './month.ts';

/**
 * Lets submissions go whose ids say that they are from before a moment: months that ended before it
 * as a whole, and row by row those that are in no month. A month that it cuts stays until it ended.
 *
 * None is lost by it: a submission is stored in the transaction that applies it, what waits is in
 * the queue, and what is held or was refused is in tables of its own. A job that comes after its
 * month went, or comes again, changes nothing that is newer: the joins compare stamps and orders,
 * which the lead keeps. Leads and identities stay; consents go with the submissions that brought them.
 *
 * Rejects with a StoreError, of the code 55P03 when the table could not be had for a moment.
 */
export async function dropSubmissionsBefore(
  store: Store,
  before: Date,
): Promise<{ partitions: string[]; rows: number }> {
  const partitions = await dropPartitions(store, 'submission', before);
  const remaining = await listPartitions(store.prisma, 'submission');
  let rows = 0;
  for (const name of ['submission_past', 'submission_default'])
    if (remaining.includes(name)) rows += await deleteRows(store, name, before);
  return { partitions, rows };
}

async function deleteRows(store: Store, partition: string, before: Date): Promise<number> {
  const table = Prisma.raw(partition);
  try {
    return await deleteInBatches(
      (limit) => store.prisma.$executeRaw`
        DELETE FROM ${table} WHERE id IN (
          SELECT id FROM ${table} WHERE id < ${firstIdAt(before)}::uuid ORDER BY id LIMIT ${limit})`,
    );
  } catch (error) {
    throw withoutValues(error);
  }
}
