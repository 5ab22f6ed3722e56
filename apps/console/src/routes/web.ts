import fastifyStatic from '@fastify/static';
import { StartError } from '@leadgate/boot';
import { loadOperation, Refusal } from '@leadgate/operations';
import { hasOperators } from '@leadgate/store';
import type {
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  RouteShorthandOptions,
} from 'fastify';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { webPolicy } from '../headers.ts';
import { perform } from '../perform.ts';
import { sendProblem } from '../problem.ts';
import type { ConsoleServices } from '../services.ts';

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

/** The built pages: their folder, and the page that loads them. Throws a StartError without them. */
function readWeb(): { assets: string; page: string; ahead: string; preload: Preload } {
  try {
    const index = require.resolve('@leadgate/web/dist/index.html');
    return {
      assets: join(index, '../assets'),
      page: readFileSync(index, 'utf8'),
      ahead: readFileSync(join(index, '../ahead.js'), 'utf8'),
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
export const webRoutes: FastifyPluginAsync<ConsoleServices> = async (app, services) => {
  const { assets, page, ahead, preload } = readWeb();
  const aheadHash = createHash('sha256').update(ahead).digest('base64');
  const [show, list] = await Promise.all([
    loadOperation('me.show'),
    loadOperation('workspace.list'),
  ]);
  const options: RouteShorthandOptions = { config: { operation: show }, schema: { hide: true } };
  const open: RouteShorthandOptions = { config: { public: true }, schema: { hide: true } };
  /** What a page would ask for before it shows anything. */
  const answersFor = async (reply: FastifyReply, path: string): Promise<object> => {
    if (path === SIGN_IN) return { first: !(await hasOperators(services.store)) };
    const [me, workspaces] = await Promise.all([
      perform(reply, show, {}, services.connections),
      perform(reply, list, {}, services.connections),
    ]);
    if (me instanceof Refusal || workspaces instanceof Refusal) return {};
    return { me, workspaces };
  };
  const send = async (request: FastifyRequest, reply: FastifyReply, path: string) => {
    const nonce = randomBytes(16).toString('base64');
    const language = /^\s*pt\b/i.test(request.headers['accept-language'] ?? '') ? 'pt' : 'en';
    const files = [...(preload.pages[path] ?? []), ...(preload.languages[language] ?? [])];
    const links = files.map((file) => `<link rel="modulepreload" href="${file}">`).join('');
    // Data and no script: nothing in it ends the element.
    const answers = JSON.stringify(await answersFor(reply, path)).replaceAll('<', '\\u003c');
    // Before the style: a script after it would wait for it.
    const first = `<script type="application/json" id="answers">${answers}</script><script>${ahead}</script>`;
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', webPolicy(nonce, aheadHash))
      .send(
        page
          .replaceAll(NONCE, nonce)
          .replace('<head>', () => `<head>${first}`)
          .replace('</head>', `${links}</head>`),
      );
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
