import type { Store } from '../open-store.ts';
import { deleteInBatches } from '../partitions/retention.ts';

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
