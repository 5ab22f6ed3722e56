import { CUSTOM_FIELD_TYPES, type CustomField, type CustomFieldType } from '@leadgate/contract';
import { archiveField, createField, listFields, renameField } from '@leadgate/store';
import { Type } from 'typebox';
import { invalid, NOTHING_NAMED, operation, Refusal, UNKNOWN_WORKSPACE } from './operation.ts';
import { Uuid } from './schema.ts';

const FieldView = Type.Object({
  id: Uuid,
  name: Type.String(),
  label: Type.String(),
  type: Type.String(),
  options: Type.Readonly(Type.Array(Type.String())),
  archived: Type.Boolean(),
});

const UNKNOWN = new Refusal('not-found', 'There is no such field.');

function nameTaken(by: CustomField): Refusal {
  return new Refusal(
    'conflict',
    by.archived
      ? `The archived field "${by.name}" keeps this name and the values under it; choose another name.`
      : `There is a field "${by.name}" already, and case does not tell names apart; choose another name.`,
  );
}

/** The custom fields of a workspace. */
export const field = {
  list: operation({
    name: 'field.list',
    id: 'listFields',
    method: 'GET',
    path: '/workspaces/:workspaceId/fields',
    summary: 'List the custom fields of a workspace, archived ones too',
    input: Type.Object({ workspaceId: Uuid }),
    output: Type.Array(FieldView),
    run: ({ workspaceId }, { store }) => listFields(store, workspaceId),
  }),

  create: operation({
    name: 'field.create',
    id: 'createField',
    method: 'POST',
    path: '/workspaces/:workspaceId/fields',
    summary: 'Create a custom field',
    subject: ['name'],
    input: Type.Object({
      workspaceId: Uuid,
      name: Type.String({ description: 'By which senders name it; unique in the workspace.' }),
      label: Type.Optional(Type.String()),
      type: Type.Unsafe<CustomFieldType>(Type.Enum([...CUSTOM_FIELD_TYPES])),
      options: Type.Optional(Type.Array(Type.String())),
    }),
    output: FieldView,
    status: 201,
    run: async ({ workspaceId, name, label = name, type, options = [] }, { store }) => {
      const wanted = { name, label, type, options };
      const outcome = await createField(store, workspaceId, wanted);
      if (outcome.kind === 'invalid') return invalid(outcome.errors);
      if (outcome.kind === 'name-taken') return nameTaken(outcome.by);
      return outcome.kind === 'unknown-workspace' ? UNKNOWN_WORKSPACE : outcome.field;
    },
  }),

  rename: operation({
    name: 'field.rename',
    id: 'renameField',
    method: 'PATCH',
    path: '/fields/:fieldId',
    summary: 'Give a field another name or label; its values stay',
    input: Type.Object({
      fieldId: Uuid,
      name: Type.Optional(Type.String()),
      label: Type.Optional(Type.String()),
    }),
    output: FieldView,
    run: async ({ fieldId, ...to }, { store }) => {
      if (Object.keys(to).length === 0) return NOTHING_NAMED;
      const outcome = await renameField(store, fieldId, to);
      if (outcome.kind === 'invalid') return invalid(outcome.errors);
      if (outcome.kind === 'name-taken') return nameTaken(outcome.by);
      return outcome.kind === 'unknown-field' ? UNKNOWN : outcome.field;
    },
  }),

  archive: operation({
    name: 'field.archive',
    id: 'archiveField',
    method: 'POST',
    path: '/fields/:fieldId/archive',
    summary: 'Archive a field: it keeps its values and takes no new ones',
    input: Type.Object({ fieldId: Uuid }),
    output: FieldView,
    run: async ({ fieldId }, { store }) => (await archiveField(store, fieldId)) ?? UNKNOWN,
  }),
};
