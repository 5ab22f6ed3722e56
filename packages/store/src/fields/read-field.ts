import type { CustomField, CustomFieldType } from '@leadgate/contract';
import type { CustomField as FieldRow } from '../generated/client.ts';

/** A custom field from its row. */
export function readField(row: FieldRow): CustomField {
  const { id, workspaceId, name, label, options, archivedAt } = row;
  // The table's check allows the types of the contract only.
  const type = row.type as CustomFieldType;
  return { id, workspaceId, name, label, type, options, archived: archivedAt !== null };
}
