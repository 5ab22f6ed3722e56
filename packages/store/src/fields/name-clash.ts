import type { CustomField } from '@leadgate/contract';
import type { Prisma } from '../generated/client.ts';
import { readField } from './read-field.ts';

type NameClash =
  { kind: 'free' } | { kind: 'name-taken'; by: CustomField } | { kind: 'unknown-workspace' };

/**
 * Whether another field of the workspace has this name, or one that a body's key could not tell
 * from it. Locks the workspace until the transaction ends: two names that only fold to the same
 * key would pass the unique constraint.
 */
export async function findNameClash(
  tx: Prisma.TransactionClient,
  wanted: { workspaceId: string; name: string; exceptFieldId?: string },
  rules: { customFieldKey: (text: string) => string },
): Promise<NameClash> {
  const { workspaceId, name, exceptFieldId } = wanted;
  const locked = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM workspace WHERE id = ${workspaceId}::uuid FOR NO KEY UPDATE`;
  if (locked.length === 0) return { kind: 'unknown-workspace' };
  const fields = await tx.customField.findMany({ where: { workspaceId } });
  const key = rules.customFieldKey(name);
  const by = fields.find(
    (field) => field.id !== exceptFieldId && rules.customFieldKey(field.name) === key,
  );
  return by === undefined ? { kind: 'free' } : { kind: 'name-taken', by: readField(by) };
}
