import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { putLinks } from '@leadgate/intake';
import { oldestWaiting, pauseQueue, queueCounts, resumeQueue } from '@leadgate/queue';
import {
  findLeads,
  linkEntries,
  listAudit,
  listLinks,
  recentLeads,
  setLinkState,
  showLead,
} from '@leadgate/store';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { viewLink } from '../link-view.ts';
import { forRole } from '../mask/mask.ts';
import { auditPage } from '../pages/audit-page.ts';
import { leadPage, leadsPage } from '../pages/lead-pages.ts';
import { linksPage } from '../pages/links-page.ts';
import { sendPage } from '../pages/layout.ts';
import { overviewPage } from '../pages/overview-page.ts';
import { ProblemError } from '../problem.ts';
import { readSearch } from '../search-leads.ts';
import type { ApiServices } from '../services.ts';
import { tellRedis } from '../tell-redis.ts';
import { idParams } from './route-schema.ts';

const LISTED = 50;

/** The pages for people, and the buttons on them. They call what the API calls. */
export const pageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store, redis, receiverUrl } = services;
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
      acts: role === 'operator',
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

  app.get('/links', { schema: { hide } }, async (request, reply) => {
    const links = (await listLinks(store)).map((link) => viewLink(link, receiverUrl));
    const body = linksPage(links, actorOf(request).role === 'operator');
    return sendPage(reply, { title: 'Capture links', path: '/links', body });
  });

  for (const [verb, state] of [
    ['disable', 'disabled'],
    ['enable', 'open'],
  ] as const)
    app.post(
      `/links/:linkId/${verb}`,
      { config: { action: `link.${verb}` }, schema: { hide, params: idParams('linkId') } },
      async (request, reply) => {
        const { linkId } = request.params;
        if ((await setLinkState(store, linkId, state)) === null)
          throw new ProblemError('not-found');
        await tellRedis(request, async () => putLinks(redis, await linkEntries(store, linkId)));
        return reply.redirect('/links', 303);
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
      config: { role: 'operator' },
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
