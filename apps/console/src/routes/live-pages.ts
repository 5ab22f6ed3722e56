import { readFileSync } from 'node:fs';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { listLinks, type Link } from '@leadgate/store';
import { Type } from 'typebox';
import { acts } from '../auth/actor.ts';
import { importsPage } from '../pages/imports-page.ts';
import { sendPage } from '../pages/layout.ts';
import { tailPage } from '../pages/tail-page.ts';
import type { ApiServices } from '../services.ts';
import { Uuid } from './route-schema.ts';

/** The scripts of the pages that live: plain JavaScript, beside the sources, sent as it is. */
const SCRIPTS = ['imports.js', 'tail.js'].map((name) => ({
  path: `/static/${name}`,
  text: readFileSync(new URL(`../../static/${name}`, import.meta.url), 'utf8'),
}));

/** The pages that change while they are looked at: imports, and what comes in. */
export const livePageRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, { store }) => {
  const hide = true;

  for (const { path, text } of SCRIPTS)
    app.get(path, { schema: { hide } }, (_request, reply) =>
      reply.type('text/javascript; charset=utf-8').send(text),
    );

  app.get('/imports', { schema: { hide } }, async (request, reply) => {
    const mayAct = acts(request);
    const body = importsPage((await listLinks(store)).map(optionOf), mayAct);
    return sendPage(reply, {
      ...{ title: 'Imports', path: '/imports', body },
      script: '/static/imports.js',
    });
  });

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
