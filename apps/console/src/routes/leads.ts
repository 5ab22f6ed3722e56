import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { findLeads, recentLeads, showLead } from '@leadgate/store';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { forRole } from '../mask/mask.ts';
import { ProblemError } from '../problem.ts';
import { readSearch } from '../search-leads.ts';
import type { ApiServices } from '../services.ts';
import { idParams, Limit, open, PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

const summary = {
  leadId: Uuid,
  workspaceId: Uuid,
  workspace: Type.String(),
  createdAt: Time,
  updatedAt: Time,
  erased: Type.Boolean(),
};
const LeadSummary = open(summary, 'Its fields stand beside these, named as in a posted body.');
const LeadDetails = open(
  {
    ...summary,
    aliases: Type.Array(Uuid),
    submissions: Type.Integer(),
    identities: Type.Array(open({ kind: Type.String(), value: Type.String() })),
    provenance: open({}, 'By field path: the submission that set the value, and its time.'),
    possibleDuplicates: Type.Array(open({ leadId: Uuid })),
    history: Type.Array(open({ submissionId: Uuid, acceptedAt: Time })),
  },
  'All that is known of a lead.',
);

/** Leads: find, show. */
export const leadRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { store }) => {
  app.get(
    '/leads',
    {
      schema: {
        operationId: 'findLeads',
        summary: 'Find leads by id, email, phone or name; without any, those of the newest posts',
        description:
          'A viewer gets personal data masked, and finds by whole ids, emails and phones only.',
        querystring: Type.Object({
          q: Type.Optional(Type.String({ maxLength: 300 })),
          workspaceId: Type.Optional(Uuid),
          limit: Limit,
        }),
        response: { 200: Type.Array(LeadSummary), ...PROBLEM_ANSWERS },
      },
    },
    async (request) => {
      const { q = '', workspaceId, limit = 50 } = request.query;
      const { role } = actorOf(request);
      if (q.trim() === '') return forRole(role, await recentLeads(store, workspaceId, limit));
      const search = await readSearch(store, q, { role, workspaceId });
      return search === null ? [] : forRole(role, await findLeads(store, search, limit));
    },
  );

  app.get(
    '/leads/:leadId',
    {
      schema: {
        operationId: 'showLead',
        summary: 'Show a lead by any id it ever had, with history, provenance and duplicates',
        params: idParams('leadId'),
        querystring: Type.Object({
          history: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 50 })),
        }),
        response: { 200: LeadDetails, ...PROBLEM_ANSWERS },
      },
    },
    async (request) => {
      const { history = 50 } = request.query;
      const lead = await showLead(store, request.params.leadId, { historyLimit: history });
      if (lead === null) throw new ProblemError('not-found');
      return forRole(actorOf(request).role, lead);
    },
  );
};
