import { readFileSync } from 'node:fs';
import type { FastifyPluginAsync } from 'fastify';
import type { ReceiverServices } from './app.ts';
import { type Asset, makeAsset, sendAsset } from './asset.ts';

/** A landing page that posts to one link, for trying things out. */
export interface Demo {
  page: Asset;
  style: Asset;
  script: Asset;
}

const FOLDER = new URL('../demo/', import.meta.url);

/** Reads it for a capture code; `consoleUrl`: where a lead is looked at, if anywhere. */
export function readDemo({ code, consoleUrl }: { code: string; consoleUrl: string | null }): Demo {
  const read = (name: string) => readFileSync(new URL(name, FOLDER));
  const page = read('index.html')
    .toString('utf8')
    .replaceAll('{{code}}', encodeURIComponent(code))
    .replaceAll('{{console}}', attribute(consoleUrl?.replace(/(?<!\/)\/+$/, '') ?? ''));
  return {
    page: makeAsset(Buffer.from(page), 'text/html; charset=utf-8'),
    style: makeAsset(read('demo.css'), 'text/css; charset=utf-8'),
    script: makeAsset(read('demo.js'), 'text/javascript; charset=utf-8'),
  };
}

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

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

/** GET /demo: a landing page that posts to the demo link. There is none if there is no such link. */
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
