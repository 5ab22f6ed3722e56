import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FieldError } from '@leadgate/contract';
import { putLinks } from '@leadgate/intake';
import {
  createLink,
  expireLink,
  findLink,
  linkEntries,
  listLinks,
  listWorkspaces,
  rotateLink,
  setLinkState,
  updateLink,
  wholeGuard,
} from '@leadgate/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { actorOf } from '../auth/actor.ts';
import { viewLink } from '../link-view.ts';
import { sendPage } from '../pages/layout.ts';
import { linkPage, linksPage, newLinkPage } from '../pages/link-pages.ts';
import { ProblemError } from '../problem.ts';
import {
  EMPTY_FORM,
  formOf,
  LinkFormBody,
  readLinkForm,
  sentForm,
  type LinkForm,
} from '../read-link-form.ts';
import type { ApiServices } from '../services.ts';
import { tellRedis } from '../tell-redis.ts';
import { idParams } from './route-schema.ts';

const OVERLAP_SECONDS = 7 * 86_400;

const PAST: FieldError = {
  pointer: '/expires',
  code: 'invalid',
  detail: 'The last day is over already.',
};

/** The pages of capture links, and the forms and buttons on them. */
export const linkPageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store, redis, receiverUrl } = services;
  const hide = true;
  const acts = (request: FastifyRequest) => actorOf(request).role === 'operator';
  const follow = (request: FastifyRequest, linkId: string) =>
    tellRedis(request, async () => putLinks(redis, await linkEntries(store, linkId)));

  app.get('/links', { schema: { hide } }, async (request, reply) => {
    const links = (await listLinks(store)).map((link) => viewLink(link, receiverUrl));
    const body = linksPage(links, acts(request));
    return sendPage(reply, { title: 'Capture links', path: '/links', body });
  });

  const showNew = async (reply: FastifyReply, form: LinkForm, errors: FieldError[] = []) => {
    const body = newLinkPage(await listWorkspaces(store), { form, errors });
    return sendPage(reply, { title: 'New capture link', path: '/links', body });
  };

  app.get('/links/new', { config: { role: 'operator' }, schema: { hide } }, (_request, reply) =>
    showNew(reply, EMPTY_FORM),
  );

  app.post(
    '/links/new',
    {
      config: { action: 'link.create', subject: ['workspaceId', 'label'] },
      schema: { hide, body: LinkFormBody },
    },
    async (request, reply) => {
      const form = sentForm(request.body);
      const { settings, guard, expiresAt } = readLinkForm(request.body);
      if (isPast(expiresAt)) return showNew(reply.code(422), form, [PAST]);
      const outcome = await createLink(store, form.workspaceId, {
        ...settings,
        expiresAt,
        guard: wholeGuard(guard),
      });
      if (outcome.kind === 'invalid') return showNew(reply.code(422), form, outcome.errors);
      if (outcome.kind === 'unknown-workspace') throw new ProblemError('not-found');
      await follow(request, outcome.link.id);
      return reply.redirect(`/links/${outcome.link.id}`, 303);
    },
  );

  const showLink = async (
    reply: FastifyReply,
    linkId: string,
    { form, errors = [] }: { form?: LinkForm; errors?: FieldError[] } = {},
  ) => {
    const link = await findLink(store, linkId);
    if (link === null) throw new ProblemError('not-found');
    const view = viewLink(link, receiverUrl);
    const body = linkPage(view, { form: form ?? formOf(view), errors }, acts(reply.request));
    const title = view.label === '' ? 'Capture link' : view.label;
    return sendPage(reply, { title, path: '/links', body });
  };

  app.get('/links/:linkId', { schema: { hide, params: idParams('linkId') } }, (request, reply) =>
    showLink(reply, request.params.linkId),
  );

  app.post(
    '/links/:linkId/set',
    {
      config: { action: 'link.set' },
      schema: { hide, params: idParams('linkId'), body: LinkFormBody },
    },
    async (request, reply) => {
      const { linkId } = request.params;
      const form = sentForm(request.body);
      const { settings, guard, expiresAt } = readLinkForm(request.body);
      const before = await findLink(store, linkId);
      if (before === null) throw new ProblemError('not-found');
      const isNewEnd = formOf(viewLink(before, receiverUrl)).expires !== form.expires;
      if (isNewEnd && isPast(expiresAt))
        return showLink(reply.code(422), linkId, { form, errors: [PAST] });
      const outcome = await updateLink(store, linkId, { ...settings, guard });
      if (outcome.kind === 'invalid')
        return showLink(reply.code(422), linkId, { form, errors: outcome.errors });
      if (isNewEnd) await expireLink(store, linkId, expiresAt);
      await follow(request, linkId);
      return reply.redirect(`/links/${linkId}`, 303);
    },
  );

  app.post(
    '/links/:linkId/rotate',
    { config: { action: 'link.rotate' }, schema: { hide, params: idParams('linkId') } },
    async (request, reply) => {
      const { linkId } = request.params;
      const outcome = await rotateLink(store, linkId, OVERLAP_SECONDS);
      if (outcome.kind === 'unknown-link') throw new ProblemError('not-found');
      if (outcome.kind === 'expired')
        return showLink(reply.code(422), linkId, {
          errors: [{ pointer: '', code: 'expired', detail: 'It has ended: give it an end first.' }],
        });
      await follow(request, linkId);
      return reply.redirect(`/links/${linkId}`, 303);
    },
  );

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
        await follow(request, linkId);
        return reply.redirect('/links', 303);
      },
    );
};

const isPast = (end: Date | null): boolean => end !== null && end.getTime() <= Date.now();
