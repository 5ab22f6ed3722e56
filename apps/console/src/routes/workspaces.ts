import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { PhoneClass } from '@leadgate/contract';
import { openWorkspace, putLinks } from '@leadgate/intake';
import { createWorkspace, setWorkspace } from '@leadgate/operations';
import { listWorkspaces, type Workspace } from '@leadgate/store';
import { Type } from 'typebox';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { tellRedis } from '../tell-redis.ts';
import { idParams, PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

const dummyPhones = Type.Array(Type.String({ maxLength: 40 }), {
  maxItems: 1_000,
  description: 'Telephones that identify nobody.',
});
const dummyClasses = Type.Array(PhoneClass, {
  maxItems: 2,
  description:
    'Classes of telephones that identify nobody: repeated (one repeated digit after the area code), impossible (no number of any plan). None by default.',
});

const WorkspaceView = Type.Object({
  id: Uuid,
  name: Type.String(),
  country: Type.String(),
  dummyPhones,
  dummyClasses,
  createdAt: Time,
});

const NewWorkspace = Type.Object(
  {
    name: Type.String(),
    country: Type.Optional(Type.String({ description: 'ISO 3166-1; BR where it is left out.' })),
    dummyPhones: Type.Optional(dummyPhones),
  },
  { additionalProperties: false },
);

const WorkspaceChanges = Type.Object(
  { dummyPhones: Type.Optional(dummyPhones), dummyClasses: Type.Optional(dummyClasses) },
  { additionalProperties: false, minProperties: 1 },
);

const view = ({ createdAt, ...workspace }: Workspace) => ({
  ...workspace,
  createdAt: createdAt.toISOString(),
});

/** Workspaces: list, create. */
export const workspaceRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store, redis } = services;
  app.get(
    '/workspaces',
    {
      schema: {
        operationId: 'listWorkspaces',
        summary: 'List the workspaces',
        response: { 200: Type.Array(WorkspaceView), ...PROBLEM_ANSWERS },
      },
    },
    async () => (await listWorkspaces(store)).map(view),
  );

  app.post(
    '/workspaces',
    {
      config: { action: 'workspace.create', subject: ['name'] },
      schema: {
        operationId: 'createWorkspace',
        summary: 'Create a workspace',
        body: NewWorkspace,
        response: { 201: WorkspaceView, ...PROBLEM_ANSWERS },
      },
    },
    async (request, reply) => {
      const { name, country = 'BR', dummyPhones = [] } = request.body;
      const outcome = await createWorkspace(store, { name, country, dummyPhones });
      if (outcome.kind === 'invalid') throw new ProblemError('invalid', { errors: outcome.errors });
      if (outcome.kind === 'name-taken')
        throw new ProblemError('conflict', { detail: 'A workspace has this name already.' });
      await tellRedis(request, () => openWorkspace(redis, outcome.workspace.id));
      return reply.code(201).send(view(outcome.workspace));
    },
  );

  app.patch(
    '/workspaces/:workspaceId',
    {
      config: { action: 'workspace.set', subject: ['dummyClasses'] },
      schema: {
        operationId: 'changeWorkspace',
        summary: 'Change which telephones identify nobody; what is not named stays',
        params: idParams('workspaceId'),
        body: WorkspaceChanges,
        response: { 200: WorkspaceView, ...PROBLEM_ANSWERS },
      },
    },
    async (request) => {
      const outcome = await setWorkspace(store, request.params.workspaceId, request.body);
      if (outcome.kind === 'invalid') throw new ProblemError('invalid', { errors: outcome.errors });
      if (outcome.kind === 'unknown-workspace') throw new ProblemError('not-found');
      await tellRedis(request, () => putLinks(redis, outcome.entries));
      return view(outcome.workspace);
    },
  );
};
