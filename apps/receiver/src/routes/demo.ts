import type { FastifyPluginAsync } from 'fastify';
import { sendAsset } from '../assets/asset.ts';
import type { ReceiverServices } from '../services.ts';

/** Own files only: nothing inline, nothing from elsewhere, no frame around it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** GET /demo: a landing page that posts to the demo link. There is none where there is no such link. */
export const demoRoutes: FastifyPluginAsync<Pick<ReceiverServices, 'demo'>> = async (
  app,
  { demo },
) => {
  if (demo === null) return;
  const files = { '/demo': demo.page, '/demo/demo.css': demo.style, '/demo/demo.js': demo.script };
  for (const [path, file] of Object.entries(files))
    app.get(path, { schema: { hide: true } }, (request, reply) => {
      reply.headers({
        'content-security-policy': POLICY,
        'referrer-policy': 'strict-origin-when-cross-origin',
      });
      return sendAsset(request, reply, file, { seconds: 0 });
    });
};
