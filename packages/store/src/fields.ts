import {
  CUSTOM_FIELD_TYPES,
  type CustomField,
  type CustomFieldType,
  type FieldError,
} from '@leadgate/contract';
import { customFieldKey } from '@leadgate/leads';
import { randomUUID } from 'node:crypto';
import type { CustomField as FieldRow, Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import {
  databaseTime,
  displayText,
  displayTextFault,
  labelErrors,
  nameErrors,
  type Statements,
} from './statements.ts';

/** Every custom field of a workspace, archived ones included, oldest first. */
export async function listFields(store: Store, workspaceId: string): Promise<CustomField[]> {
  const rows = await store.prisma.customField.findMany({
    where: { workspaceId },
    orderBy: [{ createdAt: 'asc' }, { name: 'asc' }],
  });
  return rows.map(readField);
}

/** The custom fields of some workspaces, archived ones included. */
export async function fieldsOfWorkspaces(
  db: Pick<Statements, '$queryRaw'>,
  workspaceIds: readonly string[],
): Promise<CustomField[]> {
  if (workspaceIds.length === 0) return [];
  // Raw: it is asked with every group, and a query of Prisma's is compiled each time.
  const rows = await db.$queryRaw<Omit<FieldRow, 'createdAt'>[]>`
    SELECT id, workspace_id AS "workspaceId", name, label, type, options, archived_at AS "archivedAt"
    FROM custom_field WHERE workspace_id = ANY (${[...new Set(workspaceIds)]}::uuid[])
    ORDER BY created_at`;
  return rows.map(readField);
}

interface NewField {
  name: string;
  label: string;
  type: CustomFieldType;
  /** The values of a select or multi-select, in the order shown; empty for other types. */
  options: string[];
}

type FieldCreation =
  | { kind: 'created'; field: CustomField }
  | { kind: 'name-taken'; by: CustomField }
  | { kind: 'unknown-workspace' }
  | { kind: 'invalid'; errors: FieldError[] };

/**
 * Creates a custom field. A name is refused when `customFieldKey` folds it to the same key as
 * that of another field of the workspace, archived ones included: a body's key would name both.
 */
export async function createField(
  store: Store,
  workspaceId: string,
  input: NewField,
): Promise<FieldCreation> {
  const { type } = input;
  const name = displayText(input.name);
  const label = displayText(input.label);
  const options = input.options.map(displayText);
  const errors = [...nameErrors(name), ...labelErrors(label), ...typeErrors(type, options)];
  if (errors.length > 0) return { kind: 'invalid', errors };
  return store.prisma.$transaction(async (tx) => {
    const clash = await findNameClash(tx, { workspaceId, name });
    if (clash.kind !== 'free') return clash;
    const field = await tx.customField.create({
      data: { id: randomUUID(), workspaceId, name, label, type, options },
    });
    return { kind: 'created', field: readField(field) };
  });
}

function typeErrors(type: string, options: string[]): FieldError[] {
  const fault = (pointer: string, detail: string) => [{ pointer, code: 'invalid', detail }];
  if (!CUSTOM_FIELD_TYPES.some((known) => known === type))
    return fault('/type', `The type is not one of ${CUSTOM_FIELD_TYPES.join(', ')}.`);
  const takesOptions = type === 'select' || type === 'multi-select';
  if (takesOptions && options.length === 0)
    return fault('/options', `A ${type} field needs at least one option.`);
  if (!takesOptions && options.length > 0)
    return fault('/options', `A ${type} field takes no options; select and multi-select do.`);
  return options.flatMap((option, at) => {
    const problem =
      displayTextFault(option) ?? (options.indexOf(option) < at ? 'is there twice' : null);
    return problem === null ? [] : fault(`/options/${at}`, `Option ${at + 1} ${problem}.`);
  });
}

type FieldRenaming =
  | { kind: 'renamed'; field: CustomField }
  | { kind: 'name-taken'; by: CustomField }
  | { kind: 'unknown-field' }
  | { kind: 'invalid'; errors: FieldError[] };

/** Gives a field another name, another label, or both. Its values stay: they are kept by its id. */
export async function renameField(
  store: Store,
  fieldId: string,
  to: { name?: string; label?: string },
): Promise<FieldRenaming> {
  const name = to.name === undefined ? undefined : displayText(to.name);
  const label = to.label === undefined ? undefined : displayText(to.label);
  const errors = [
    ...(name === undefined ? [] : nameErrors(name)),
    ...(label === undefined ? [] : labelErrors(label)),
  ];
  if (errors.length > 0) return { kind: 'invalid', errors };
  return store.prisma.$transaction(async (tx) => {
    const field = await tx.customField.findUnique({ where: { id: fieldId } });
    if (field === null) return { kind: 'unknown-field' };
    if (name !== undefined) {
      const { workspaceId } = field;
      const clash = await findNameClash(tx, { workspaceId, name, exceptFieldId: fieldId });
      if (clash.kind === 'name-taken') return clash;
    }
    const renamed = await tx.customField.update({
      where: { id: fieldId },
      data: { ...(name !== undefined && { name }), ...(label !== undefined && { label }) },
    });
    return { kind: 'renamed', field: readField(renamed) };
  });
}

/**
 * Archives a field: it keeps its values and its name, and takes no new values. Archiving it again
 * changes nothing. Null if there is no such field.
 */
export async function archiveField(store: Store, fieldId: string): Promise<CustomField | null> {
  await store.prisma.customField.updateMany({
    where: { id: fieldId, archivedAt: null },
    data: { archivedAt: await databaseTime(store) },
  });
  const row = await store.prisma.customField.findUnique({ where: { id: fieldId } });
  return row === null ? null : readField(row);
}

type NameClash =
  { kind: 'free' } | { kind: 'name-taken'; by: CustomField } | { kind: 'unknown-workspace' };

/**
 * Whether another field of the workspace has this name, or one that a body's key could not tell
 * from it. Locks the workspace until the transaction ends: two names that only fold to the same
 * key would pass the unique constraint.
 */
async function findNameClash(
  tx: Prisma.TransactionClient,
  wanted: { workspaceId: string; name: string; exceptFieldId?: string },
): Promise<NameClash> {
  const { workspaceId, name, exceptFieldId } = wanted;
  const locked = await tx.$queryRaw<unknown[]>`
    SELECT 1 FROM workspace WHERE id = ${workspaceId}::uuid FOR NO KEY UPDATE`;
  if (locked.length === 0) return { kind: 'unknown-workspace' };
  const fields = await tx.customField.findMany({ where: { workspaceId } });
  const key = customFieldKey(name);
  const by = fields.find(
    (field) => field.id !== exceptFieldId && customFieldKey(field.name) === key,
  );
  return by === undefined ? { kind: 'free' } : { kind: 'name-taken', by: readField(by) };
}

function readField(row: Omit<FieldRow, 'createdAt'>): CustomField {
  const { id, workspaceId, name, label, options, archivedAt } = row;
  // The table's check allows the types of the contract only.
  const type = row.type as CustomFieldType;
  return { id, workspaceId, name, label, type, options, archived: archivedAt !== null };
}
