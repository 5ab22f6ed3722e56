import type { CustomField, Submission } from '@leadgate/contract';
import { readField } from '../fields/read-field.ts';
import type { Prisma } from '../generated/client.ts';

/** The custom fields of every workspace of a group, archived ones included. */
export async function readFields(
  tx: Prisma.TransactionClient,
  submissions: readonly Submission[],
): Promise<CustomField[]> {
  const workspaceIds = [...new Set(submissions.map(({ workspaceId }) => workspaceId))];
  const rows = await tx.customField.findMany({ where: { workspaceId: { in: workspaceIds } } });
  return rows.map(readField);
}
