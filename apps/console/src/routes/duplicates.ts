import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { isDuplicatePair, listDuplicates } from '@leadgate/store';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { forRole } from '../mask/mask.ts';
import { mergeTwo } from '../merge-two.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { Limit, Nullable, PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

const Side = Type.Object({
  leadId: Uuid,
  name: Nullable(Type.String()),
  email: Nullable(Type.String()),
  telephone: Nullable(Type.String()),
});
const Pair = Type.Object({
  workspaceId: Uuid,
  a: Side,
  b: Side,
  since: Time,
  pair: Type.String({ description: 'Its place in the list.' }),
});

/** Leads that may be one person: list, merge. */
export const duplicateRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store } = services;
  app.get(
    '/duplicates',
    {
      schema: {
        operationId: 'listDuplicates',
        summary: 'List pairs of leads that one submission named at once, newest first',
        querystring: Type.Object({
          workspaceId: Type.Optional(Uuid),
          leadId: Type.Optional(Uuid),
          since: Type.Optional(Time),
          until: Type.Optional(Time),
          after: Type.Optional(
            Type.String({ description: 'The pair that ended the page before.' }),
          ),
          limit: Limit,
        }),
        response: { 200: Type.Array(Pair), ...PROBLEM_ANSWERS },
      },
    },
    async (request) => {
      const { limit = 50, since, until, ...rest } = request.query;
      if (rest.after !== undefined && !isDuplicatePair(rest.after))
        throw new ProblemError('malformed-request', { detail: 'after is no pair of a page.' });
      const filter = {
        ...rest,
        ...(since !== undefined && { since: new Date(since) }),
        ...(until !== undefined && { until: new Date(until) }),
      };
      return forRole(actorOf(request).role, await listDuplicates(store, filter, limit));
    },
  );

  app.post(
    '/workspaces/:workspaceId/leads/:leadId/merge/:otherId',
    {
      config: { action: 'lead.merge' },
      schema: {
        operationId: 'mergeLeads',
        summary: 'Make one lead of two: the first stays, the other’s id stands for it',
        description: 'A join of both histories: what loses stays in the history.',
        params: Type.Object({ workspaceId: Uuid, leadId: Uuid, otherId: Uuid }),
        response: {
          200: Type.Object({ leadId: Uuid, merged: Type.Boolean() }),
          ...PROBLEM_ANSWERS,
        },
      },
    },
    (request) => mergeTwo(services, request, request.params),
  );
};
