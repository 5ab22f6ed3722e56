import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { listSubmissions, showSubmission } from '@leadgate/store';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { forRole } from '../mask/mask.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { idParams, Limit, open, PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

const summary = {
  submissionId: Uuid,
  workspaceId: Uuid,
  linkId: Uuid,
  leadId: Uuid,
  acceptedAt: Time,
  at: Time,
  source: Type.String(),
  lead: open({}, 'What it sent, normalised.'),
  notes: Type.Array(open({ field: Type.String(), code: Type.String() })),
};

/** Applied submissions: list, show. */
export const submissionRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { store }) => {
  app.get(
    '/submissions',
    {
      schema: {
        operationId: 'listSubmissions',
        summary: 'List applied submissions, newest first',
        querystring: Type.Object({
          workspaceId: Type.Optional(Uuid),
          linkId: Type.Optional(Uuid),
          leadId: Type.Optional(Uuid),
          before: Type.Optional({ ...Uuid, description: 'The last id of the page before.' }),
          limit: Limit,
        }),
        response: { 200: Type.Array(open(summary)), ...PROBLEM_ANSWERS },
      },
    },
    async (request) => {
      const { limit = 50, ...filter } = request.query;
      return forRole(actorOf(request).role, await listSubmissions(store, filter, limit));
    },
  );

  app.get(
    '/submissions/:submissionId',
    {
      schema: {
        operationId: 'showSubmission',
        summary: 'Show a submission with its body as sent',
        params: idParams('submissionId'),
        response: { 200: open({ ...summary, body: Type.String() }), ...PROBLEM_ANSWERS },
      },
    },
    async (request) => {
      const submission = await showSubmission(store, request.params.submissionId);
      if (submission === null) throw new ProblemError('not-found');
      return forRole(actorOf(request).role, submission);
    },
  );
};
