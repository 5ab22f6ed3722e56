import type { FastifyReply, FastifyRequest } from 'fastify';

/** Answers that are no page. */
const STRICT = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/**
 * The web application: scripts and styles of its own files, the one script in the page by its hash, and the styles
 * that bear the nonce of the answer.
 */
export const webPolicy = (nonce: string, scriptHash: string): string =>
  [
    "default-src 'none'",
    `script-src 'self' 'sha256-${scriptHash}'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** bull-board is an app of scripts from its own files, and styles its elements in place. */
const DASHBOARD = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'self'",
  "frame-ancestors 'none'",
].join('; ');

export const DASHBOARD_PATH = '/queues';

/** The headers of every answer, errors included. */
export function setSecurityHeaders(request: FastifyRequest, reply: FastifyReply): void {
  const dashboard = new RegExp(`^${DASHBOARD_PATH}(/|\\?|$)`).test(request.url);
  reply.headers({
    'content-security-policy': dashboard ? DASHBOARD : STRICT,
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'cache-control': 'no-store',
    // A browser heeds it over https only (RFC 6797).
    ...(request.protocol === 'https' && { 'strict-transport-security': 'max-age=31536000' }),
  });
}
