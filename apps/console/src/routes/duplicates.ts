import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { moveIdentities } from '@leadgate/intake';
import { joinLeads } from '@leadgate/leads';
import { listDuplicates, mergeLeads } from '@leadgate/store';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { forRole } from '../mask/mask.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { tellRedis } from '../tell-redis.ts';
import { Limit, Nullable, PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

const Side = Type.Object({
  leadId: Uuid,
  name: Nullable(Type.String()),
  email: Nullable(Type.String()),
  telephone: Nullable(Type.String()),
});
const Pair = Type.Object({ workspaceId: Uuid, a: Side, b: Side, since: Time });

/** Leads that may be one person: list, merge. */
export const duplicateRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (
  app,
  { store, redis },
) => {
  app.get(
    '/duplicates',
    {
      schema: {
        operationId: 'listDuplicates',
        summary: 'List pairs of leads that one submission named at once, newest first',
        querystring: Type.Object({ workspaceId: Type.Optional(Uuid), limit: Limit }),
        response: { 200: Type.Array(Pair), ...PROBLEM_ANSWERS },
      },
    },
    async (request) => {
      const { limit = 50, ...filter } = request.query;
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
    async (request) => {
      const { workspaceId, leadId, otherId } = request.params;
      const outcome = await mergeLeads(store, workspaceId, leadId, otherId, { joinLeads });
      switch (outcome.kind) {
        case 'unknown-lead':
          throw new ProblemError('not-found', { detail: `There is no lead ${outcome.leadId}.` });
        case 'erased-lead':
          throw new ProblemError('conflict', { detail: `Lead ${outcome.leadId} was erased.` });
        case 'one-lead':
          return { leadId: outcome.leadId, merged: false };
        case 'merged':
          await tellRedis(request, () => moveIdentities(redis, workspaceId, outcome.moved));
          return { leadId: outcome.leadId, merged: true };
      }
    },
  );
};
