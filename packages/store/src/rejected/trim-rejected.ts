import type { Store } from '../open-store.ts';
import { deleteInBatches } from '../partitions/delete-in-batches.ts';
import { dropPartitions } from '../partitions/drop-partitions.ts';
import { firstIdAt } from '../partitions/month.ts';

/**
 * Lets the oldest refused bodies of a link go until it has at most `keep`. Returns how many went.
 */
export async function trimRejected(store: Store, linkId: string, keep: number): Promise<number> {
  return deleteInBatches(
    (limit) => store.prisma.$executeRaw`
      DELETE FROM rejected_submission WHERE id IN (
        SELECT id FROM rejected_submission
        WHERE link_id = ${linkId}::uuid AND id <= (
          SELECT id FROM rejected_submission WHERE link_id = ${linkId}::uuid
          ORDER BY id DESC OFFSET ${keep} LIMIT 1)
        ORDER BY id LIMIT ${limit})`,
  );
}

/**
 * Lets refused bodies go that were refused before this moment: months that ended before it as a
 * whole, the others row by row. Returns how many rows it deleted.
 */
export async function dropRejectedBefore(store: Store, before: Date): Promise<number> {
  await dropPartitions(store, 'rejected_submission', before);
  return deleteInBatches(
    (limit) => store.prisma.$executeRaw`
      DELETE FROM rejected_submission WHERE id IN (
        SELECT id FROM rejected_submission WHERE id < ${firstIdAt(before)}::uuid
        ORDER BY id LIMIT ${limit})`,
  );
}
