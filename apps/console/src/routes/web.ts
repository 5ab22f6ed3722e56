import fastifyStatic from '@fastify/static';
import { StartError } from '@leadgate/boot';
import { loadNoun } from '@leadgate/operations';
import type {
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  RouteShorthandOptions,
} from 'fastify';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { webPolicy } from '../headers.ts';
import { sendProblem } from '../problem.ts';

const require = createRequire(import.meta.url);

/** Addresses of programs: what is none of them is told so, and not shown a page. */
const OF_PROGRAMS = /^\/(api|assets)(\/|\?|$)/;

/** Stands in the built page for the nonce of an answer. */
const NONCE = /__NONCE__/g;

/** What each page loads besides the first script, by its address, and each language. */
interface Preload {
  pages: Record<string, string[]>;
  languages: Record<string, string[]>;
}

/** The one page for who is not signed in. */
const SIGN_IN = '/sign-in';

/** What a page asks for before it shows anything. */
const askedFirst = (path: string): readonly string[] =>
  path === SIGN_IN ? ['/sign-in/first'] : ['/api/me', '/api/workspaces'];

/** The built pages: their folder, and the page that loads them. Throws a StartError without them. */
function readWeb(): { assets: string; page: string; preload: Preload } {
  try {
    const index = require.resolve('@leadgate/web/dist/index.html');
    return {
      assets: join(index, '../assets'),
      page: readFileSync(index, 'utf8'),
      preload: JSON.parse(readFileSync(join(index, '../preload.json'), 'utf8')) as Preload,
    };
  } catch {
    throw new StartError('the pages of the console are not built: run npm run build first');
  }
}

/**
 * The web application: its page, at every address that nothing else has (it finds out itself what to show there),
 * for all who are signed in and at the one address for who is not; and its files, for everybody: they hold nothing
 * but code, and never change under their name. What readers see is what the API shows them.
 */
export const webRoutes: FastifyPluginAsync = async (app) => {
  const { assets, page, preload } = readWeb();
  const { show } = await loadNoun('me');
  const options: RouteShorthandOptions = { config: { operation: show }, schema: { hide: true } };
  const open: RouteShorthandOptions = { config: { public: true }, schema: { hide: true } };
  const send = (request: FastifyRequest, reply: FastifyReply, path: string) => {
    const nonce = randomBytes(16).toString('base64');
    const language = /^\s*pt\b/i.test(request.headers['accept-language'] ?? '') ? 'pt' : 'en';
    const links = [
      ...[...(preload.pages[path] ?? []), ...(preload.languages[language] ?? [])].map(
        (file) => `<link rel="modulepreload" href="${file}">`,
      ),
      ...askedFirst(path).map((url) => `<link rel="preload" as="fetch" crossorigin href="${url}">`),
    ];
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', webPolicy(nonce))
      .send(page.replaceAll(NONCE, nonce).replace('</head>', `${links.join('')}</head>`));
  };
  app.get('/*', options, (request, reply) =>
    OF_PROGRAMS.test(request.url) ? sendProblem(reply, 'not-found') : send(request, reply, '/*'),
  );
  for (const path of Object.keys(preload.pages))
    app.get(path, path === SIGN_IN ? open : options, (request, reply) =>
      send(request, reply, path),
    );

  await app.register(async (files) => {
    files.addHook('onRoute', (route) => {
      Object.assign(route, open);
    });
    await files.register(fastifyStatic, {
      root: assets,
      prefix: '/assets/',
      preCompressed: true,
      // One hook for all of them; those it would set are set for every answer.
      cacheControl: false,
      setHeaders: (reply) => {
        void reply.header('cache-control', 'private, max-age=31536000, immutable');
      },
    });
  });
};
