import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { createToken, listTokens, revokeToken, type ApiToken } from '@leadgate/store';
import { Type } from 'typebox';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { RoleSchema } from './operators.ts';
import { Nullable, PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

const members = {
  id: Uuid,
  name: Type.String(),
  role: RoleSchema,
  createdAt: Time,
  lastUsedAt: Nullable(Time),
  revokedAt: Nullable(Time),
};
const TokenView = Type.Object(members);

const view = ({ createdAt, lastUsedAt, revokedAt, ...token }: ApiToken) => ({
  ...token,
  createdAt: createdAt.toISOString(),
  lastUsedAt: lastUsedAt?.toISOString() ?? null,
  revokedAt: revokedAt?.toISOString() ?? null,
});

/** API tokens: list, create, revoke. */
export const tokenRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { store }) => {
  app.get(
    '/tokens',
    {
      config: { role: 'operator' },
      schema: {
        operationId: 'listTokens',
        summary: 'List the API tokens, revoked ones too; their secrets are not known any more',
        response: { 200: Type.Array(TokenView), ...PROBLEM_ANSWERS },
      },
    },
    async () => (await listTokens(store)).map(view),
  );

  app.post(
    '/tokens',
    {
      config: { action: 'token.create', subject: ['name', 'role'] },
      schema: {
        operationId: 'createToken',
        summary: 'Create an API token; its secret is shown this once',
        body: Type.Object(
          { name: Type.String(), role: RoleSchema },
          { additionalProperties: false },
        ),
        response: {
          201: Type.Object({ ...members, secret: Type.String() }),
          ...PROBLEM_ANSWERS,
        },
      },
    },
    async (request, reply) => {
      const outcome = await createToken(store, request.body);
      if (outcome.kind === 'invalid') throw new ProblemError('invalid', { errors: outcome.errors });
      if (outcome.kind === 'name-taken')
        throw new ProblemError('conflict', { detail: 'A token in force has this name already.' });
      return reply.code(201).send({ ...view(outcome.token), secret: outcome.secret });
    },
  );

  app.delete(
    '/tokens/:name',
    {
      config: { action: 'token.revoke' },
      schema: {
        operationId: 'revokeToken',
        summary: 'Revoke an API token, by name or id, for good',
        params: Type.Object({ name: Type.String() }),
        response: { 200: TokenView, ...PROBLEM_ANSWERS },
      },
    },
    async ({ params }) => {
      const token = await revokeToken(store, params.name);
      if (token === null) throw new ProblemError('not-found');
      return view(token);
    },
  );
};
