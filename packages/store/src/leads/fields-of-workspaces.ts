import type { CustomField } from '@leadgate/contract';
import { readField } from '../fields/read-field.ts';
import type { Store } from '../open-store.ts';

/** The custom fields of some workspaces, archived ones included. */
export async function fieldsOfWorkspaces(
  store: Store,
  workspaceIds: string[],
): Promise<CustomField[]> {
  if (workspaceIds.length === 0) return [];
  const rows = await store.prisma.customField.findMany({
    where: { workspaceId: { in: [...new Set(workspaceIds)] } },
    orderBy: { createdAt: 'asc' },
  });
  return rows.map(readField);
}
