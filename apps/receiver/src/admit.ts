import type { CaptureLink } from '@leadgate/contract';
import type { LinkDirectory, WithinDeadline } from '@leadgate/intake';
import type { FastifyReply } from 'fastify';

/** Codes are made of URL-safe characters; anything else is no code, and not worth a question. */
const CODE = /^[\w.~-]{1,128}$/;

export type Admission =
  | { kind: 'admitted'; link: CaptureLink }
  | { kind: 'turned-away'; code: 'link-closed' | 'origin-not-allowed'; link: CaptureLink }
  | { kind: 'unknown-link' }
  /** The directory cannot say now whether there is such a link. */
  | { kind: 'not-known-yet' };

/** What a post to a code says of itself before its body. */
export interface Arriving {
  code: string;
  origin: string | undefined;
  now: number;
}

/** Whether a post to a code may go on to its body, if this process knows; null: the directory has to be asked. */
export function admitKnown(
  directory: Pick<LinkDirectory, 'peek'>,
  post: Arriving,
): Admission | null {
  if (!CODE.test(post.code)) return { kind: 'unknown-link' };
  const known = directory.peek(post.code);
  return known === null ? null : admissionOf(known, post);
}

/** The same of a code that is to be asked for. Rejects when Redis, which is asked then, gave no answer. */
export async function admitAsked(
  directory: Pick<LinkDirectory, 'find'>,
  within: WithinDeadline,
  post: Arriving,
): Promise<Admission> {
  const finding = await within(directory.find(post.code));
  if (finding.kind === 'unknown') return { kind: 'unknown-link' };
  if (finding.kind === 'not-known-yet') return finding;
  return admissionOf(finding.link, post);
}

function admissionOf(link: CaptureLink, post: Arriving): Admission {
  const isExpired = link.expiresAt !== null && link.expiresAt <= post.now;
  if (link.state !== 'open' || isExpired) return { kind: 'turned-away', code: 'link-closed', link };
  if (!mayPost(link, post.origin)) return { kind: 'turned-away', code: 'origin-not-allowed', link };
  return { kind: 'admitted', link };
}

function mayPost(link: CaptureLink, origin: string | undefined): boolean {
  if (link.origins.length === 0) return true;
  return origin === undefined ? link.allowServers : listsOrigin(link, origin);
}

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
function listsOrigin(link: CaptureLink, origin: string | undefined): boolean {
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
