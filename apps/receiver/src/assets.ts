import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { StartError } from '@leadgate/boot';
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import type { ReceiverServices } from './app.ts';

/** A file as it is served, read once: nothing is compressed or hashed while a page waits. */
export interface Asset {
  type: string;
  bytes: Buffer;
  gzipped: Buffer;
  /** Of the content, in the alphabet of addresses. */
  hash: string;
}

export function makeAsset(bytes: Buffer, type: string): Asset {
  return {
    type,
    bytes,
    gzipped: gzipSync(bytes, { level: 9 }),
    hash: createHash('sha256').update(bytes).digest('hex').slice(0, 16),
  };
}

/**
 * Answers with a file, compressed if the browser takes that, or 304 if it has the file already.
 * `seconds`: how long it may be kept without asking again.
 */
function sendAsset(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, bytes, gzipped, hash }: Asset,
  { seconds, immutable = false }: { seconds: number; immutable?: boolean },
): FastifyReply {
  // Weak: the two encodings share it (RFC 9110, 8.8.1).
  const etag = `W/"${hash}"`;
  reply.headers({
    'cache-control': `public, max-age=${seconds}${immutable ? ', immutable' : ''}`,
    etag,
    vary: 'Accept-Encoding',
    // A page that isolates itself (COEP) may load it too.
    'cross-origin-resource-policy': 'cross-origin',
  });
  if (hasAlready(request.headers['if-none-match'], etag)) return reply.code(304).send();
  reply.type(type);
  if (!takesGzip(request.headers['accept-encoding'])) return reply.send(bytes);
  return reply.header('content-encoding', 'gzip').send(gzipped);
}

/** If-None-Match compares weakly (RFC 9110, 13.1.2). */
function hasAlready(header: string | undefined, etag: string): boolean {
  const opaque = etag.replace(/^W\//, '');
  return (header ?? '').split(',').some((one) => {
    const tag = one.trim();
    return tag === '*' || tag.replace(/^W\//, '') === opaque;
  });
}

function takesGzip(header: string | string[] | undefined): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:\s*,|\s*$))/i.test(String(header ?? ''));
}

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
