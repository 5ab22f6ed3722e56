import type { Store } from './open-store.ts';

/**
 * Counts every change of a link, a code or a workspace. What Redis holds of the link directory is
 * behind where its revision is lower.
 */
export async function directoryRevision(store: Store): Promise<number> {
  const [row] = await store.prisma.$queryRaw<{ revision: number }[]>`
    SELECT revision::float8 AS revision FROM directory_revision`;
  if (row === undefined) throw new Error('directory_revision has lost its row');
  return row.revision;
}
