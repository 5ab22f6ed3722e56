import type { Store } from '../open-store.ts';

/** Rows a statement: deleting should not hold the table or the log of Postgres for long. */
const BATCH = 5_000;

/**
 * Lets the oldest refused bodies of a link go until it has at most `keep`. Returns how many went.
 */
export async function trimRejected(store: Store, linkId: string, keep: number): Promise<number> {
  return inBatches(
    () => store.prisma.$executeRaw`
      DELETE FROM rejected_submission WHERE id IN (
        SELECT id FROM rejected_submission
        WHERE link_id = ${linkId}::uuid AND id <= (
          SELECT id FROM rejected_submission WHERE link_id = ${linkId}::uuid
          ORDER BY id DESC OFFSET ${keep} LIMIT 1)
        ORDER BY id LIMIT ${BATCH})`,
  );
}

/** Lets refused bodies go that were refused before this moment. Returns how many went. */
export async function dropRejectedBefore(store: Store, before: Date): Promise<number> {
  // Their ids are UUIDv7, which begin with the time in milliseconds: no index but the key is needed.
  const time = before.getTime().toString(16).padStart(12, '0');
  const id = `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
  return inBatches(
    () => store.prisma.$executeRaw`
      DELETE FROM rejected_submission WHERE id IN (
        SELECT id FROM rejected_submission WHERE id < ${id}::uuid ORDER BY id LIMIT ${BATCH})`,
  );
}

async function inBatches(deleteSome: () => Promise<number>): Promise<number> {
  let all = 0;
  for (;;) {
    const deleted = await deleteSome();
    all += deleted;
    if (deleted < BATCH) return all;
  }
}
