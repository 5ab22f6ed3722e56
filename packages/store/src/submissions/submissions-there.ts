import type { Store } from '../open-store.ts';

/** Of these ids, those that a submission has been applied under; of imported rows also after it went. */
export async function submissionsThere(store: Store, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await store.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM submission WHERE id = ANY (${ids}::uuid[])
    UNION SELECT id FROM imported_row WHERE id = ANY (${ids}::uuid[])`;
  return new Set(rows.map(({ id }) => id));
}
