import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { loadNoun, Refusal } from '@leadgate/operations';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { acts } from '../auth/actor.ts';
import { auditPage } from '../pages/audit-page.ts';
import { comparePage, duplicatesPage } from '../pages/duplicate-pages.ts';
import { failedPage } from '../pages/failed-page.ts';
import { heldDetailsPage, heldPage } from '../pages/held-pages.ts';
import { sendPage } from '../pages/layout.ts';
import { leadPage, leadsPage } from '../pages/lead-pages.ts';
import { overviewPage } from '../pages/overview-page.ts';
import { rejectedDetailsPage, rejectedPage } from '../pages/rejected-pages.ts';
import { outputOf, perform } from '../perform.ts';
import { ProblemError, statusOf } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { HeldStateSchema, idParams, Uuid } from './route-schema.ts';

const LISTED = 50;
const Two = Type.Object({ workspaceId: Uuid, leadId: Uuid, otherId: Uuid });
const hide = true;

/** The pages for people, and the buttons on them. They run what the API runs. */
export const pageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { connections }) => {
  const [lead, rejected, held, failed, queue, audit] = await Promise.all([
    loadNoun('lead'),
    loadNoun('rejected'),
    loadNoun('held'),
    loadNoun('failed'),
    loadNoun('queue'),
    loadNoun('audit'),
  ]);

  app.get('/', { schema: { hide } }, async (request, reply) => {
    const [standing, leads] = await Promise.all([
      orNull(outputOf(reply, queue.show, {}, connections)),
      orNull(outputOf(reply, lead.find, { limit: 20 }, connections)),
    ]);
    const body = overviewPage({ queue: standing, leads, acts: acts(request) });
    return sendPage(reply, { title: 'Overview', path: '/', body });
  });

  app.get(
    '/leads',
    {
      schema: {
        hide,
        querystring: Type.Object({ q: Type.Optional(Type.String({ maxLength: 300 })) }),
      },
    },
    async (request, reply) => {
      const { q = '' } = request.query;
      const leads = await outputOf(reply, lead.find, { q, limit: LISTED }, connections);
      const body = leadsPage(leads, q, !acts(request));
      return sendPage(reply, { title: 'Leads', path: '/leads', body });
    },
  );

  app.get(
    '/leads/:leadId',
    { schema: { hide, params: idParams('leadId') } },
    async (request, reply) => {
      const { leadId } = request.params;
      const shown = await outputOf(reply, lead.show, { leadId, history: LISTED }, connections);
      const body = leadPage(shown);
      return sendPage(reply, { title: shown.name ?? 'Lead', path: '/leads', body });
    },
  );

  app.get(
    '/duplicates',
    {
      schema: {
        hide,
        querystring: Type.Object({ after: Type.Optional(Type.String({ maxLength: 100 })) }),
      },
    },
    async (request, reply) => {
      const input = { after: request.query.after, limit: LISTED };
      const pairs = await outputOf(reply, lead.duplicates, input, connections);
      const body = duplicatesPage(pairs, pairs.length === LISTED);
      return sendPage(reply, { title: 'Possible duplicates', path: '/duplicates', body });
    },
  );

  app.get(
    '/duplicates/:workspaceId/:leadId/:otherId',
    { schema: { hide, params: Two } },
    async (request, reply) => {
      const { leadId, otherId, workspaceId } = request.params;
      const [one, other] = await Promise.all([
        outputOf(reply, lead.show, { leadId, history: 1 }, connections),
        outputOf(reply, lead.show, { leadId: otherId, history: 1 }, connections),
      ]);
      if (one.workspaceId !== workspaceId || other.workspaceId !== workspaceId)
        throw new ProblemError('not-found');
      if (one.leadId === other.leadId) return reply.redirect(`/leads/${one.leadId}`, 303);
      const body = comparePage([one, other], acts(request));
      return sendPage(reply, { title: 'Are they one person?', path: '/duplicates', body });
    },
  );

  app.post(
    '/duplicates/:workspaceId/:leadId/merge/:otherId',
    { config: { operation: lead.merge }, schema: { hide, params: Two } },
    async (request, reply) => {
      const { leadId } = await outputOf(reply, lead.merge, request.params, connections);
      return reply.redirect(`/leads/${leadId}`, 303);
    },
  );

  app.get('/rejected', { schema: { hide } }, async (_request, reply) => {
    const listed = await outputOf(reply, rejected.list, { limit: LISTED }, connections);
    return sendPage(reply, { title: 'Rejected', path: '/rejected', body: rejectedPage(listed) });
  });

  const showRejected = async (reply: FastifyReply, rejectedId: string, problem: string | null) => {
    const shown = await outputOf(reply, rejected.show, { rejectedId }, connections);
    const body = rejectedDetailsPage(shown, { acts: acts(reply.request), problem });
    return sendPage(reply, { title: 'Rejected post', path: '/rejected', body });
  };

  app.get(
    '/rejected/:rejectedId',
    { schema: { hide, params: idParams('rejectedId') } },
    (request, reply) => showRejected(reply, request.params.rejectedId, null),
  );

  app.post(
    '/rejected/:rejectedId/replay',
    {
      config: { operation: rejected.replay },
      schema: { hide, params: idParams('rejectedId') },
    },
    async (request, reply) => {
      const { rejectedId } = request.params;
      const done = await perform(reply, rejected.replay, { rejectedId }, connections);
      if (!(done instanceof Refusal)) return reply.redirect(`/rejected/${rejectedId}`, 303);
      return showRejected(reply.code(422), rejectedId, `Still refused: ${done.detail}`);
    },
  );

  app.get(
    '/held',
    {
      schema: {
        hide,
        querystring: Type.Object({
          state: Type.Optional(HeldStateSchema),
          before: Type.Optional(Uuid),
        }),
      },
    },
    async (request, reply) => {
      const { state = 'held', before } = request.query;
      const listed = await outputOf(
        reply,
        held.list,
        { state, before, limit: LISTED },
        connections,
      );
      const more = listed.length === LISTED;
      const body = heldPage(listed, { state, acts: acts(request), more });
      return sendPage(reply, { title: 'Held', path: '/held', body });
    },
  );

  const showHeld = async (reply: FastifyReply, heldId: string, problem: string | null = null) => {
    const shown = await outputOf(reply, held.show, { heldId }, connections);
    const body = heldDetailsPage(shown, { acts: acts(reply.request), problem });
    return sendPage(reply, { title: 'Held post', path: '/held', body });
  };

  app.get('/held/:heldId', { schema: { hide, params: idParams('heldId') } }, (request, reply) =>
    showHeld(reply, request.params.heldId),
  );

  for (const verb of ['release', 'discard'] as const)
    app.post(
      `/held/:heldId/${verb}`,
      { config: { operation: held[verb] }, schema: { hide, params: idParams('heldId') } },
      async (request, reply) => {
        const { heldId } = request.params;
        const done =
          verb === 'release'
            ? await perform(reply, held.release, { heldId }, connections)
            : await perform(reply, held.discard, { heldId }, connections);
        if (!(done instanceof Refusal)) return reply.redirect('/held', 303);
        return showHeld(reply.code(statusOf(done.code)), heldId, done.detail);
      },
    );

  app.get('/failed', { schema: { hide } }, async (request, reply) => {
    const [reasons, newest] = await Promise.all([
      outputOf(reply, failed.reasons, {}, connections),
      outputOf(reply, failed.list, { limit: LISTED }, connections),
    ]);
    const body = failedPage({ reasons, newest }, acts(request));
    return sendPage(reply, { title: 'Failed', path: '/failed', body });
  });

  app.post(
    '/failed/retry',
    { config: { operation: failed.retryAll }, schema: { hide } },
    async (_request, reply) => {
      await outputOf(reply, failed.retryAll, {}, connections);
      return reply.redirect('/failed', 303);
    },
  );

  app.post(
    '/failed/:jobId/retry',
    {
      config: { operation: failed.retry },
      schema: { hide, params: Type.Object({ jobId: Type.String() }) },
    },
    async (request, reply) => {
      await perform(reply, failed.retry, request.params, connections);
      return reply.redirect('/failed', 303);
    },
  );

  for (const verb of ['pause', 'resume'] as const)
    app.post(
      `/queue/${verb}`,
      { config: { operation: queue[verb] }, schema: { hide } },
      async (_request, reply) => {
        await outputOf(reply, queue[verb], {}, connections);
        return reply.redirect('/', 303);
      },
    );

  app.get(
    '/audit',
    {
      config: { operation: audit.list },
      schema: { hide, querystring: Type.Object({ before: Type.Optional(Type.Integer()) }) },
    },
    async ({ query: { before } }, reply) => {
      const entries = await outputOf(reply, audit.list, { before, limit: 100 }, connections);
      return sendPage(reply, { title: 'Audit log', path: '/audit', body: auditPage(entries) });
    },
  );
};

/** A page about an outage must not need what is away. */
function orNull<T>(promise: Promise<T>): Promise<T | null> {
  return promise.catch(() => null);
}
