import { reaches } from '@leadgate/contract';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { isDuplicatePair, listDuplicates, showLead } from '@leadgate/store';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { forRole } from '../mask/mask.ts';
import { mergeTwo } from '../merge-two.ts';
import { comparePage, duplicatesPage } from '../pages/duplicate-pages.ts';
import { sendPage } from '../pages/layout.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { Uuid } from './route-schema.ts';

const LISTED = 50;
const Two = Type.Object({ workspaceId: Uuid, leadId: Uuid, otherId: Uuid });

/** The pages of leads that may be one person, and the buttons that merge them. */
export const duplicatePageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (
  app,
  services,
) => {
  const { store } = services;
  const hide = true;

  app.get(
    '/duplicates',
    {
      schema: {
        hide,
        querystring: Type.Object({ after: Type.Optional(Type.String({ maxLength: 100 })) }),
      },
    },
    async (request, reply) => {
      const { after } = request.query;
      if (after !== undefined && !isDuplicatePair(after)) throw new ProblemError('not-found');
      const pairs = await listDuplicates(store, after === undefined ? {} : { after }, LISTED);
      const shown = forRole(actorOf(request).role, pairs);
      return sendPage(reply, {
        title: 'Possible duplicates',
        path: '/duplicates',
        body: duplicatesPage(shown, pairs.length === LISTED),
      });
    },
  );

  app.get(
    '/duplicates/:workspaceId/:leadId/:otherId',
    { schema: { hide, params: Two } },
    async (request, reply) => {
      const { leadId, otherId, workspaceId } = request.params;
      const { role } = actorOf(request);
      const [one, other] = await Promise.all(
        [leadId, otherId].map((id) => showLead(store, id, { historyLimit: 1 })),
      );
      if (one?.workspaceId !== workspaceId || other?.workspaceId !== workspaceId)
        throw new ProblemError('not-found');
      if (one.leadId === other.leadId) return reply.redirect(`/leads/${one.leadId}`, 303);
      return sendPage(reply, {
        title: 'Are they one person?',
        path: '/duplicates',
        body: comparePage([forRole(role, one), forRole(role, other)], reaches(role, 'operator')),
      });
    },
  );

  app.post(
    '/duplicates/:workspaceId/:leadId/merge/:otherId',
    { config: { action: 'lead.merge' }, schema: { hide, params: Two } },
    async (request, reply) => {
      const { leadId } = await mergeTwo(services, request, request.params);
      return reply.redirect(`/leads/${leadId}`, 303);
    },
  );
};
