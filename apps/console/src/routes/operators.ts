import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { addOperator, listOperators, removeOperator, type Operator } from '@leadgate/store';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

export const RoleSchema = Type.Union([Type.Literal('viewer'), Type.Literal('operator')], {
  description: 'viewer: sees, personal data masked; operator: sees and acts.',
});

const OperatorView = Type.Object({
  id: Uuid,
  name: Type.String(),
  role: RoleSchema,
  createdAt: Time,
});

const view = ({ createdAt, ...operator }: Operator) => ({
  ...operator,
  createdAt: createdAt.toISOString(),
});

/** Who may sign in: list, add, remove. */
export const operatorRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { store }) => {
  app.get(
    '/operators',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'listOperators',
        summary: 'List who may sign in',
        response: { 200: Type.Array(OperatorView), ...PROBLEM_ANSWERS },
      },
    },
    async () => (await listOperators(store)).map(view),
  );

  app.post(
    '/operators',
    {
      config: { action: 'operator.add', subject: ['name', 'role'] },
      schema: {
        operationId: 'addOperator',
        summary: 'Add somebody who may sign in',
        body: Type.Object(
          { name: Type.String(), password: Type.String(), role: RoleSchema },
          { additionalProperties: false },
        ),
        response: { 201: OperatorView, ...PROBLEM_ANSWERS },
      },
    },
    async (request, reply) => {
      const outcome = await addOperator(store, request.body);
      if (outcome.kind === 'invalid') throw new ProblemError('invalid', { errors: outcome.errors });
      if (outcome.kind === 'name-taken')
        throw new ProblemError('conflict', { detail: 'Somebody has this name already.' });
      return reply.code(201).send(view(outcome.operator));
    },
  );

  app.delete(
    '/operators/:name',
    {
      config: { action: 'operator.remove' },
      schema: {
        operationId: 'removeOperator',
        summary: 'Remove somebody and end their sessions at once',
        params: Type.Object({ name: Type.String() }),
        response: { 204: Type.Null(), ...PROBLEM_ANSWERS },
      },
    },
    async (request, reply) => {
      const { name } = request.params;
      const actor = actorOf(request);
      if (actor.kind === 'operator' && actor.name === name)
        throw new ProblemError('conflict', { detail: 'You cannot remove yourself.' });
      if (!(await removeOperator(store, name))) throw new ProblemError('not-found');
      return reply.code(204).send(null);
    },
  );
};
