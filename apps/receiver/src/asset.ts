import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

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
 * Answers with a file, compressed where the browser takes that, or 304 if it has the file already.
 * `seconds`: how long it may be kept without asking again.
 */
export function sendAsset(
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
