import type { CustomField } from '@leadgate/contract';
import type { Store } from '../open-store.ts';
import { readField } from './read-field.ts';

/** Every custom field of a workspace, archived ones included, oldest first. */
export async function listFields(store: Store, workspaceId: string): Promise<CustomField[]> {
  const rows = await store.prisma.customField.findMany({
    where: { workspaceId },
    orderBy: [{ createdAt: 'asc' }, { name: 'asc' }],
  });
  return rows.map(readField);
}
