import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { CUSTOM_FIELD_TYPES, type CustomField, type CustomFieldType } from '@leadgate/contract';
import { customFieldKey } from '@leadgate/leads';
import { archiveField, createField, listFields, renameField } from '@leadgate/store';
import { Type } from 'typebox';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { idParams, PROBLEM_ANSWERS, Uuid } from './route-schema.ts';

const FieldView = Type.Object({
  id: Uuid,
  name: Type.String(),
  label: Type.String(),
  type: Type.String(),
  options: Type.Array(Type.String()),
  archived: Type.Boolean(),
});

const NewField = Type.Object(
  {
    name: Type.String({ description: 'By which senders name it; unique in the workspace.' }),
    label: Type.Optional(Type.String()),
    type: Type.Unsafe<CustomFieldType>(Type.Enum([...CUSTOM_FIELD_TYPES])),
    options: Type.Optional(Type.Array(Type.String())),
  },
  { additionalProperties: false },
);

const FieldChange = Type.Object(
  { name: Type.Optional(Type.String()), label: Type.Optional(Type.String()) },
  { additionalProperties: false, minProperties: 1 },
);

const view = ({ id, name, label, type, options, archived }: CustomField) => ({
  id,
  name,
  label,
  type,
  options: [...options],
  archived,
});

const nameTaken = () =>
  new ProblemError('conflict', {
    detail: 'A field of this workspace has this name already; case does not tell names apart.',
  });

/** Custom fields: list, create, rename, archive. */
export const fieldRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { store }) => {
  app.get(
    '/workspaces/:workspaceId/fields',
    {
      schema: {
        operationId: 'listFields',
        summary: 'List the custom fields of a workspace, archived ones too',
        params: idParams('workspaceId'),
        response: { 200: Type.Array(FieldView), ...PROBLEM_ANSWERS },
      },
    },
    async ({ params }) => (await listFields(store, params.workspaceId)).map(view),
  );

  app.post(
    '/workspaces/:workspaceId/fields',
    {
      config: { action: 'field.create', subject: ['name'] },
      schema: {
        operationId: 'createField',
        summary: 'Create a custom field',
        params: idParams('workspaceId'),
        body: NewField,
        response: { 201: FieldView, ...PROBLEM_ANSWERS },
      },
    },
    async ({ params, body }, reply) => {
      const { name, label = name, type, options = [] } = body;
      const outcome = await createField(
        store,
        params.workspaceId,
        { name, label, type, options },
        { customFieldKey },
      );
      if (outcome.kind === 'invalid') throw new ProblemError('invalid', { errors: outcome.errors });
      if (outcome.kind === 'name-taken') throw nameTaken();
      if (outcome.kind === 'unknown-workspace') throw new ProblemError('not-found');
      return reply.code(201).send(view(outcome.field));
    },
  );

  app.patch(
    '/fields/:fieldId',
    {
      config: { action: 'field.rename' },
      schema: {
        operationId: 'renameField',
        summary: 'Give a field another name or label; its values stay',
        params: idParams('fieldId'),
        body: FieldChange,
        response: { 200: FieldView, ...PROBLEM_ANSWERS },
      },
    },
    async ({ params, body }) => {
      const outcome = await renameField(store, params.fieldId, body, { customFieldKey });
      if (outcome.kind === 'invalid') throw new ProblemError('invalid', { errors: outcome.errors });
      if (outcome.kind === 'name-taken') throw nameTaken();
      if (outcome.kind === 'unknown-field') throw new ProblemError('not-found');
      return view(outcome.field);
    },
  );

  app.post(
    '/fields/:fieldId/archive',
    {
      config: { action: 'field.archive' },
      schema: {
        operationId: 'archiveField',
        summary: 'Archive a field: it keeps its values and takes no new ones',
        params: idParams('fieldId'),
        response: { 200: FieldView, ...PROBLEM_ANSWERS },
      },
    },
    async ({ params }) => {
      const field = await archiveField(store, params.fieldId);
      if (field === null) throw new ProblemError('not-found');
      return view(field);
    },
  );
};
