import type { FastifyPluginAsync } from 'fastify';
import { sendAsset } from '../assets/asset.ts';
import type { ReceiverServices } from '../services.ts';

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
