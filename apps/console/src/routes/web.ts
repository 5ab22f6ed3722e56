import fastifyStatic from '@fastify/static';
import { StartError } from '@leadgate/boot';
import { loadNoun } from '@leadgate/operations';
import type { FastifyPluginAsync } from 'fastify';
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

/** The built pages: their folder, and the page that loads them. Throws a StartError without them. */
function readWeb(): { assets: string; page: string } {
  try {
    const index = require.resolve('@leadgate/web/dist/index.html');
    return { assets: join(index, '../assets'), page: readFileSync(index, 'utf8') };
  } catch {
    throw new StartError('the pages of the console are not built: run npm run build first');
  }
}

/**
 * The web application, for all who are signed in: its page, at every address that nothing else has (it finds out
 * itself what to show there), and its files, which hold nothing but code and never change under their name. What
 * they see is what the API shows them.
 */
export const webRoutes: FastifyPluginAsync = async (app) => {
  const { assets, page } = readWeb();
  const options = { config: { operation: (await loadNoun('me')).show }, schema: { hide: true } };
  app.get('/*', options, (request, reply) => {
    if (OF_PROGRAMS.test(request.url)) return sendProblem(reply, 'not-found');
    const nonce = randomBytes(16).toString('base64');
    return reply
      .type('text/html; charset=utf-8')
      .header('content-security-policy', webPolicy(nonce))
      .send(page.replaceAll(NONCE, nonce));
  });

  await app.register(async (files) => {
    files.addHook('onRoute', (route) => {
      Object.assign(route, options);
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
