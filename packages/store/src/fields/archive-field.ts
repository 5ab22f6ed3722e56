import type { CustomField } from '@leadgate/contract';
import type { Store } from '../open-store.ts';
import { databaseTime } from '../partitions/retention.ts';
import { readField } from './read-field.ts';

/**
 * Archives a field: it keeps its values and its name, and takes no new values. Archiving it again
 * changes nothing. Null where there is no such field.
 */
export async function archiveField(store: Store, fieldId: string): Promise<CustomField | null> {
  await store.prisma.customField.updateMany({
    where: { id: fieldId, archivedAt: null },
    data: { archivedAt: await databaseTime(store) },
  });
  const row = await store.prisma.customField.findUnique({ where: { id: fieldId } });
  return row === null ? null : readField(row);
}
