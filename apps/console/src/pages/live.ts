import { Uuid } from '@leadgate/operations';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { type Link, listLinks } from '@leadgate/store';
import { Type } from 'typebox';
import { readFileSync } from 'node:fs';
import type { ApiServices } from '../services.ts';
import { html, type Html, type Option, selectOf } from './html.ts';
import { sendPage } from './layout.ts';

/** The script of the page that lives: plain JavaScript, beside the sources, sent as it is. */
const SCRIPTS = ['tail.js'].map((name) => ({
  path: `/static/${name}`,
  text: readFileSync(new URL(`../../static/${name}`, import.meta.url), 'utf8'),
}));

/** The page that changes while it is looked at: what comes in. */
export const livePageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { store }) => {
  const hide = true;

  for (const { path, text } of SCRIPTS)
    app.get(path, { schema: { hide } }, (_request, reply) =>
      reply.type('text/javascript; charset=utf-8').send(text),
    );

  app.get(
    '/tail',
    {
      schema: {
        hide,
        // The form sends an empty one for every link.
        querystring: Type.Object({
          linkId: Type.Optional(Type.Union([Uuid, Type.Literal('')])),
        }),
      },
    },
    async (request, reply) => {
      const linkId = request.query.linkId || null;
      const body = tailPage((await listLinks(store)).map(optionOf), linkId);
      return sendPage(reply, {
        ...{ title: 'As it happens', path: '/tail', body },
        script: '/static/tail.js',
      });
    },
  );
};

const optionOf = ({ id, label, workspaceName }: Link) => ({
  value: id,
  text: `${workspaceName}: ${label === '' ? id.slice(0, 8) : label}`,
});

/** What happens, as it happens. Its script fills the table. */
function tailPage(links: readonly Option[], linkId: string | null): Html {
  return html`<noscript><p class="note">This page needs its script.</p></noscript>
    <form class="search" method="get" action="/tail">
      ${selectOf('linkId', [{ value: '', text: 'Every link' }, ...links], linkId ?? '')}
      <button>Follow</button>
    </form>
    <p id="state" class="soft" role="status">Connecting …</p>
    <div class="scroll">
      <table class="stack">
        <thead>
          <tr>
            ${['When', 'What', 'Link', 'About'].map((title) => html`<th scope="col">${title}</th>`)}
          </tr>
        </thead>
        <tbody id="events" data-link="${linkId ?? ''}"></tbody>
      </table>
    </div>
    <p class="soft">What happens from now on, newest first; the last 200.</p>`;
}
