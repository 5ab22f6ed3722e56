import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FieldError } from '@leadgate/contract';
import { type LinkView, loadNoun, Refusal } from '@leadgate/operations';
import type { Workspace } from '@leadgate/store';
import type { FastifyReply } from 'fastify';
import { acts } from '../gate.ts';
import { outputOf, perform } from '../perform.ts';
import { ProblemError, problemOf } from '../problem.ts';
import { idParams } from '../validate.ts';
import type { ApiServices } from '../services.ts';
import { action, html, type Html, selectOf, tableOf, timeOf } from './html.ts';
import { sendPage } from './layout.ts';
import {
  EMPTY_FORM,
  formOf,
  type LinkForm,
  LinkFormBody,
  readLinkForm,
  sentForm,
  settings,
} from './link-form.ts';

/** The pages of capture links, and the forms and buttons on them. */
export const linkPageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (
  app,
  { connections },
) => {
  const [link, workspace] = await Promise.all([loadNoun('link'), loadNoun('workspace')]);
  const hide = true;
  const schema = { hide, params: idParams('linkId') };

  app.get('/links', { schema: { hide } }, async (request, reply) => {
    const links = await outputOf(reply, link.list, {}, connections);
    const body = linksPage(links, acts(request));
    return sendPage(reply, { title: 'Capture links', path: '/links', body });
  });

  const showNew = async (
    reply: FastifyReply,
    form: LinkForm,
    errors: readonly FieldError[] = [],
  ) => {
    const workspaces = await outputOf(reply, workspace.list, {}, connections);
    const body = newLinkPage(workspaces, { form, errors });
    return sendPage(reply, { title: 'New capture link', path: '/links', body });
  };

  app.get('/links/new', { config: { role: 'operator' }, schema: { hide } }, (_request, reply) =>
    showNew(reply, EMPTY_FORM),
  );

  app.post(
    '/links/new',
    { config: { operation: link.create }, schema: { hide, body: LinkFormBody } },
    async (request, reply) => {
      const form = sentForm(request.body);
      const { settings, guard, expiresAt } = readLinkForm(request.body);
      const input = { workspaceId: form.workspaceId, ...settings, guard, expiresAt };
      const made = await perform(reply, link.create, input, connections);
      if (!(made instanceof Refusal)) return reply.redirect(`/links/${made.id}`, 303);
      if (made.errors !== null) return showNew(reply.code(422), form, made.errors);
      throw new ProblemError(made.code, problemOf(made));
    },
  );

  const showLink = async (
    reply: FastifyReply,
    linkId: string,
    { form, errors = [] }: { form?: LinkForm; errors?: readonly FieldError[] } = {},
  ) => {
    const view = await outputOf(reply, link.show, { linkId }, connections);
    const filled = { form: form ?? formOf(view), errors };
    const body = linkPage(view, filled, acts(reply.request));
    const title = view.label === '' ? 'Capture link' : view.label;
    return sendPage(reply, { title, path: '/links', body });
  };

  app.get('/links/:linkId', { schema }, (request, reply) => showLink(reply, request.params.linkId));

  app.post(
    '/links/:linkId/set',
    { config: { operation: link.set }, schema: { ...schema, body: LinkFormBody } },
    async (request, reply) => {
      const { linkId } = request.params;
      const form = sentForm(request.body);
      const { settings, guard, expiresAt } = readLinkForm(request.body);
      const set = await perform(reply, link.set, { linkId, ...settings, guard }, connections);
      if (set instanceof Refusal)
        return showLink(reply.code(422), linkId, { form, errors: faultsOf(set) });
      if (formOf(set).expires !== form.expires) {
        const ended = await perform(reply, link.expire, { linkId, at: expiresAt }, connections);
        if (ended instanceof Refusal)
          return showLink(reply.code(422), linkId, { form, errors: faultsOf(ended) });
      }
      return reply.redirect(`/links/${linkId}`, 303);
    },
  );

  app.post(
    '/links/:linkId/rotate',
    { config: { operation: link.rotate }, schema },
    async (request, reply) => {
      const { linkId } = request.params;
      const done = await perform(reply, link.rotate, { linkId }, connections);
      return done instanceof Refusal && done.code === 'conflict'
        ? showLink(reply.code(422), linkId, { errors: faultsOf(done) })
        : reply.redirect(`/links/${linkId}`, 303);
    },
  );

  for (const verb of ['disable', 'enable'] as const)
    app.post(
      `/links/:linkId/${verb}`,
      { config: { operation: link[verb] }, schema },
      async (request, reply) => {
        await outputOf(reply, link[verb], request.params, connections);
        return reply.redirect('/links', 303);
      },
    );
};

const faultsOf = ({ code, detail, errors }: Refusal): readonly FieldError[] =>
  errors ?? [{ pointer: '', code, detail }];

function linksPage(links: readonly LinkView[], acts: boolean): Html {
  return html`${acts && html`<p><a class="button" href="/links/new">New link</a></p>`}
  ${tableOf(
    ['Link', 'Workspace', 'State', 'Mode', 'Posts to', ...(acts ? ['Act'] : [])],
    links.map((link) => [
      html`<a href="/links/${link.id}">${link.label === '' ? link.id.slice(0, 8) : link.label}</a>`,
      link.workspaceName,
      stateOf(link),
      link.mode,
      html`<code>${link.captureUrl ?? link.code}</code>`,
      ...(acts ? [change(link)] : []),
    ]),
    'No capture link yet.',
  )}`;
}

const stateOf = ({ status }: LinkView): Html =>
  html`<span class="${status === 'open' ? 'good' : 'warn'}">${status}</span>`;

const change = ({ id, state }: LinkView): Html =>
  state === 'open'
    ? action(`/links/${id}/disable`, 'Disable')
    : action(`/links/${id}/enable`, 'Enable');

/** A form, and what was wrong with what was sent of it. */
interface Filled {
  form: LinkForm;
  errors: readonly FieldError[];
}

function newLinkPage(workspaces: readonly Workspace[], filled: Filled): Html {
  if (workspaces.length === 0)
    return html`<p>There is no workspace yet: leadgate workspace create NAME.</p>`;
  return html`${faults(filled.errors)}
    <form method="post" action="/links/new">
      <label for="workspaceId">Workspace</label>
      ${selectOf(
        'workspaceId',
        workspaces.map(({ id, name }) => ({ value: id, text: name })),
        filled.form.workspaceId,
      )}
      ${settings(filled.form, { hasSecret: false })}
      <p><button>Create</button></p>
    </form>`;
}

function linkPage(link: LinkView, filled: Filled, acts: boolean): Html {
  return html`<p class="soft">
      ${link.workspaceName} · ${stateOf(link)} · since ${timeOf(link.createdAt)}
    </p>
    <p>Posts to <code>${link.captureUrl ?? link.code}</code></p>
    ${
      acts &&
      html`<p>
        ${change(link)} ${action(`/links/${link.id}/rotate`, 'New code, the old one for a week')}
      </p>`
    }
    ${tableOf(
      ['Code', 'Since', 'Until'],
      link.codes.map(({ code, createdAt, expiresAt }) => [
        html`<code>${code}</code>`,
        timeOf(createdAt),
        expiresAt === null ? 'no end' : timeOf(expiresAt),
      ]),
      '',
    )}
    <h2>Settings</h2>
    ${faults(filled.errors)}
    <form method="post" action="/links/${link.id}/set">
      <fieldset class="bare" ${!acts && html`disabled`}>
        ${settings(filled.form, { hasSecret: link.guard.captcha !== null })}
        ${acts && html`<p><button>Save</button></p>`}
      </fieldset>
    </form>`;
}

const faults = (errors: readonly FieldError[]): Html | false =>
  errors.length > 0 &&
  html`<div class="note bad" role="alert">
    ${errors.map(({ detail }) => html`<div>${detail}</div>`)}
  </div>`;
