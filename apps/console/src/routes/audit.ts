import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { listAudit } from '@leadgate/store';
import { Type } from 'typebox';
import type { ApiServices } from '../services.ts';
import { Limit, Nullable, PROBLEM_ANSWERS, Time } from './route-schema.ts';

const Entry = Type.Object({
  id: Type.Integer(),
  at: Time,
  actor: Type.Object({ kind: Type.String(), name: Type.String() }),
  action: Type.String(),
  subject: Type.Record(Type.String(), Type.String()),
  outcome: Nullable(Type.String({ description: 'Null: begun, and not known how it ended.' })),
  requestId: Nullable(Type.String()),
});

/** Who did what, when, to what. */
export const auditRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { store }) => {
  app.get(
    '/audit',
    {
      config: { role: 'administrator' },
      schema: {
        operationId: 'listAudit',
        summary: 'List what was done, newest first',
        querystring: Type.Object({
          action: Type.Optional(
            Type.String({ description: 'Its whole name (link.disable), or its noun (link).' }),
          ),
          actor: Type.Optional(Type.String({ description: 'The whole name.' })),
          since: Type.Optional(Time),
          before: Type.Optional(Type.Integer({ description: 'The last id of the page before.' })),
          limit: Limit,
        }),
        response: { 200: Type.Array(Entry), ...PROBLEM_ANSWERS },
      },
    },
    ({ query: { since, limit = 50, ...filter } }) =>
      listAudit(store, {
        ...filter,
        limit,
        ...(since !== undefined && { since: new Date(since) }),
      }),
  );
};
