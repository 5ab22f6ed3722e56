import { reaches } from '@leadgate/contract';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { replayRejected, retryFailed } from '@leadgate/operations';
import { oldestWaiting, pauseQueue, queueCounts, resumeQueue } from '@leadgate/queue';
import {
  findLeads,
  listAudit,
  listRejected,
  recentLeads,
  showLead,
  showRejected,
} from '@leadgate/store';
import type { FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { actorOf, acts } from '../auth/actor.ts';
import { forRole } from '../mask/mask.ts';
import { auditPage } from '../pages/audit-page.ts';
import { failedPage } from '../pages/failed-page.ts';
import { leadPage, leadsPage } from '../pages/lead-pages.ts';
import { sendPage } from '../pages/layout.ts';
import { overviewPage } from '../pages/overview-page.ts';
import { rejectedDetailsPage, rejectedPage } from '../pages/rejected-pages.ts';
import { newestFailed } from '../newest-failed.ts';
import { ProblemError } from '../problem.ts';
import { readSearch } from '../search-leads.ts';
import type { ApiServices } from '../services.ts';
import { idParams } from './route-schema.ts';

const LISTED = 50;

/** The pages for people, and the buttons on them. They call what the API calls. */
export const pageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store, redis, failed } = services;
  const hide = true;

  app.get('/', { schema: { hide } }, async (request, reply) => {
    const { role } = actorOf(request);
    const [queue, leads] = await Promise.all([
      orNull(Promise.all([queueCounts(redis), oldestWaiting(redis)])),
      orNull(recentLeads(store, undefined, 20)),
    ]);
    const body = overviewPage({
      queue: queue && { ...queue[0], oldestWaitingMs: queue[1] },
      leads: leads && forRole(role, leads),
      acts: reaches(role, 'operator'),
    });
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
      const { role } = actorOf(request);
      const { q = '' } = request.query;
      const search = q.trim() === '' ? null : await readSearch(store, q, { role });
      const leads =
        q.trim() === ''
          ? await recentLeads(store, undefined, LISTED)
          : search === null
            ? []
            : await findLeads(store, search, LISTED);
      const body = leadsPage(forRole(role, leads), q, role === 'viewer');
      return sendPage(reply, { title: 'Leads', path: '/leads', body });
    },
  );

  app.get(
    '/leads/:leadId',
    { schema: { hide, params: idParams('leadId') } },
    async (request, reply) => {
      const lead = await showLead(store, request.params.leadId, { historyLimit: LISTED });
      if (lead === null) throw new ProblemError('not-found');
      const shown = forRole(actorOf(request).role, lead);
      return sendPage(reply, {
        title: shown.name ?? 'Lead',
        path: '/leads',
        body: leadPage(shown),
      });
    },
  );

  app.get('/rejected', { schema: { hide } }, async (request, reply) => {
    const rejected = await listRejected(store, {}, LISTED);
    const body = rejectedPage(forRole(actorOf(request).role, rejected));
    return sendPage(reply, { title: 'Rejected', path: '/rejected', body });
  });

  const showRejectedPage = async (reply: FastifyReply, id: string, problem: string | null) => {
    const rejected = await showRejected(store, id);
    if (rejected === null) throw new ProblemError('not-found');
    const { role } = actorOf(reply.request);
    const body = rejectedDetailsPage(forRole(role, rejected), {
      acts: reaches(role, 'operator'),
      problem,
    });
    return sendPage(reply, { title: 'Rejected post', path: '/rejected', body });
  };

  app.get(
    '/rejected/:rejectedId',
    { schema: { hide, params: idParams('rejectedId') } },
    (request, reply) => showRejectedPage(reply, request.params.rejectedId, null),
  );

  app.post(
    '/rejected/:rejectedId/replay',
    {
      config: { action: 'rejected.replay' },
      schema: { hide, params: idParams('rejectedId') },
    },
    async (request, reply) => {
      const { rejectedId } = request.params;
      const outcome = await replayRejected(services, rejectedId, { now: Date.now() });
      if (outcome.kind === 'refused' || outcome.kind === 'behind') {
        const problem =
          outcome.kind === 'refused'
            ? `Still refused: ${outcome.errors.map(({ detail }) => detail).join(' ')}`
            : 'Redis is being refilled. Try again in a moment.';
        return showRejectedPage(reply.code(422), rejectedId, problem);
      }
      return reply.redirect(`/rejected/${rejectedId}`, 303);
    },
  );

  app.get('/failed', { schema: { hide } }, async (request, reply) => {
    const [why, newest] = await Promise.all([failed.reasons(), newestFailed(failed, {}, LISTED)]);
    const body = failedPage({ why, newest }, acts(request));
    return sendPage(reply, { title: 'Failed', path: '/failed', body });
  });

  app.post(
    '/failed/retry',
    { config: { action: 'failed.retry-all' }, schema: { hide } },
    async (_request, reply) => {
      await retryFailed(failed, {}, {});
      return reply.redirect('/failed', 303);
    },
  );

  app.post(
    '/failed/:jobId/retry',
    {
      config: { action: 'failed.retry' },
      schema: { hide, params: Type.Object({ jobId: Type.String() }) },
    },
    async (request, reply) => {
      await failed.retry(request.params.jobId);
      return reply.redirect('/failed', 303);
    },
  );

  for (const [verb, change] of [
    ['pause', pauseQueue],
    ['resume', resumeQueue],
  ] as const)
    app.post(
      `/queue/${verb}`,
      { config: { action: `queue.${verb}` }, schema: { hide } },
      async (_request, reply) => {
        await change(redis);
        return reply.redirect('/', 303);
      },
    );

  app.get(
    '/audit',
    {
      config: { role: 'administrator' },
      schema: { hide, querystring: Type.Object({ before: Type.Optional(Type.Integer()) }) },
    },
    async ({ query: { before } }, reply) => {
      const entries = await listAudit(store, {
        limit: 100,
        ...(before !== undefined && { before }),
      });
      return sendPage(reply, { title: 'Audit log', path: '/audit', body: auditPage(entries) });
    },
  );
};

/** A page about an outage must not need what is away. */
function orNull<T>(promise: Promise<T>): Promise<T | null> {
  return promise.catch(() => null);
}
