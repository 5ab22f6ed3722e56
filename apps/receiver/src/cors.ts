import type { FastifyReply } from 'fastify';
import type { CaptureLink } from '@leadgate/contract';

/**
 * Headers of every answer, errors and unknown addresses included: any page may read it. There are
 * no cookies to protect, and a page that may not post is told so in words.
 */
export function setCommonHeaders(reply: FastifyReply): void {
  reply.headers({
    'access-control-allow-origin': '*',
    'access-control-expose-headers': 'Retry-After, Submission-Id',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
}

/** Whether a link with a list of origins has this one on it. Compared without case. */
export function listsOrigin(link: CaptureLink, origin: string | undefined): boolean {
  if (origin === undefined) return false;
  const wanted = origin.toLowerCase();
  return link.origins.some((listed) => listed.toLowerCase() === wanted);
}

/**
 * Of a link with a list of origins, the answer names the origin that asked. One that is not listed
 * too: it reads the 403 that it gets, where a browser would hide it as a network error.
 */
export function nameOrigin(
  reply: FastifyReply,
  link: CaptureLink,
  origin: string | undefined,
): void {
  if (link.origins.length === 0) return;
  reply.header('vary', 'Origin');
  if (origin !== undefined) reply.header('access-control-allow-origin', origin);
}

export const ALLOWED_METHODS = 'POST, OPTIONS';

const OWN_HEADERS = ['Content-Type', 'Idempotency-Key', 'Prefer'];

/** Tokens (RFC 9110) with commas between them, a bounded list. */
const ASKED_HEADERS = /^[\w!#$%&'*+.^`|~-]{1,100}(?:[ \t]*,[ \t]*[\w!#$%&'*+.^`|~-]{1,100}){0,63}$/;

function allowedHeaders(asked: string): string {
  if (!ASKED_HEADERS.test(asked)) return OWN_HEADERS.join(', ');
  const own = OWN_HEADERS.map((name) => name.toLowerCase());
  const others = asked.split(',').map((name) => name.trim());
  return [...OWN_HEADERS, ...others.filter((name) => !own.includes(name.toLowerCase()))].join(', ');
}

/**
 * What a preflight asks: which methods and headers may be sent, and for how long to remember it. Every
 * header that is asked for may be: no credentials are taken, and a page whose monitoring adds
 * `traceparent` or `sentry-trace` would else lose its lead in the browser.
 */
export function setPreflightHeaders(reply: FastifyReply): void {
  const asked = reply.request.headers['access-control-request-headers'] ?? '';
  reply.headers({
    allow: ALLOWED_METHODS,
    'access-control-allow-methods': 'POST',
    'access-control-allow-headers': allowedHeaders(asked),
    // The longest that Chromium keeps it.
    'access-control-max-age': '7200',
  });
}
