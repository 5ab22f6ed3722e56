import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { FastifyPluginAsync } from 'fastify';
import { StartError } from '@leadgate/boot';
import type { ReceiverServices } from './app.ts';
import { type Asset, makeAsset, sendAsset } from './asset.ts';

const require = createRequire(import.meta.url);

/** The snippet for landing pages, as built. Throws a StartError if it has not been built. */
export function readSnippet(): Asset {
  try {
    const path = require.resolve('@leadgate/capture/capture.js');
    return makeAsset(readFileSync(path), 'text/javascript; charset=utf-8');
  } catch {
    throw new StartError('the snippet for landing pages is not built: run npm run build first');
  }
}

/** How long a page may run an older snippet after a new one is served. */
const FIVE_MINUTES = 300;
const YEAR = 31_536_000;

/**
 * GET /capture.js, and the same under the name of its content, which never changes. A name of an
 * earlier release leads to the snippet of today: a landing page outlives releases.
 */
export const snippetRoutes: FastifyPluginAsync<Pick<ReceiverServices, 'snippet'>> = async (
  app,
  { snippet },
) => {
  app.get('/capture.js', { schema: { hide: true } }, (request, reply) =>
    sendAsset(request, reply, snippet, { seconds: FIVE_MINUTES }),
  );

  app.get<{ Params: { hash: string } }>(
    '/capture-:hash(^[\\da-f]{16}$).js',
    { schema: { hide: true } },
    (request, reply) =>
      request.params.hash === snippet.hash
        ? sendAsset(request, reply, snippet, { seconds: YEAR, immutable: true })
        : reply.redirect('/capture.js', 302),
  );
};
