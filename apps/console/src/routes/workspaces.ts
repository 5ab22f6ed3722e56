import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { openWorkspace } from '@leadgate/intake';
import { isPhoneCountry } from '@leadgate/leads';
import { createWorkspace, listWorkspaces, type Workspace } from '@leadgate/store';
import { Type } from 'typebox';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { tellRedis } from '../tell-redis.ts';
import { PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

const WorkspaceView = Type.Object({
  id: Uuid,
  name: Type.String(),
  country: Type.String(),
  dummyPhones: Type.Array(Type.String()),
  createdAt: Time,
});

const NewWorkspace = Type.Object(
  {
    name: Type.String(),
    country: Type.Optional(Type.String({ description: 'ISO 3166-1; BR where it is left out.' })),
    dummyPhones: Type.Optional(Type.Array(Type.String({ pattern: '^\\+[0-9]{8,15}$' }))),
  },
  { additionalProperties: false },
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
      const outcome = await createWorkspace(
        store,
        { name, country: country.toUpperCase(), dummyPhones },
        { isPhoneCountry },
      );
      if (outcome.kind === 'invalid') throw new ProblemError('invalid', { errors: outcome.errors });
      if (outcome.kind === 'name-taken')
        throw new ProblemError('conflict', { detail: 'A workspace has this name already.' });
      await tellRedis(request, () => openWorkspace(redis, outcome.workspace.id));
      return reply.code(201).send(view(outcome.workspace));
    },
  );
};
