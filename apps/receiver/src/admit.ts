import proxyAddr from '@fastify/proxy-addr';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { normalizeIP } from '@fastify/rate-limit';
import type { CaptureLink, Submission } from '@leadgate/contract';
import type { LinkDirectory, WithinDeadline } from '@leadgate/intake';
import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import type { ReceiverConfig } from './config.ts';

/** Codes are made of URL-safe characters; anything else is no code, and not worth a question. */
const CODE = /^[\w.~-]{1,128}$/;

export type Admission =
  | { kind: 'admitted'; link: CaptureLink }
  | { kind: 'turned-away'; code: 'link-closed' | 'origin-not-allowed'; link: CaptureLink }
  | { kind: 'unknown-link' }
  /** The directory cannot say now whether there is such a link. */
  | { kind: 'not-known-yet' };

/** What a post to a code says of itself before its body. */
interface Arriving {
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

/**
 * The address of a sender, from what a trusted proxy wrote: with or without a port, or in brackets.
 * Null if that is not an address at all.
 */
export function readAddress(text: string): string | null {
  if (isIP(text) !== 0) return text;
  const bare = /^\[(.+)\](?::\d+)?$/.exec(text)?.[1] ?? /^([\d.]+):\d+$/.exec(text)?.[1] ?? '';
  return isIP(bare) === 0 ? null : bare;
}

/** Whether an entry of X-Forwarded-For is one of these proxies; some write the port with it. */
export function trustedProxies(proxies: string[]): (entry: string, hop: number) => boolean {
  const isTrusted = proxyAddr.compile(proxies);
  return (entry, hop) => {
    const address = readAddress(entry);
    return address !== null && isTrusted(address, hop);
  };
}

/**
 * What requests of one sender are counted under: the IPv4 address, or the /64 of an IPv6 one, which
 * is what one subscriber gets. Hashed, so that no address stands in Redis; 22 characters.
 */
export function addressLimitKey(address: string | null): string {
  const sender = address === null ? 'unknown' : normalized(address, 64);
  return `address:${hash('sha256', sender, 'base64url').slice(0, 22)}`;
}

/** Only one of IPv6 has more than one spelling. */
const normalized = (address: string, bits: number): string =>
  address.includes(':') ? normalizeIP(address, bits) : address;

/** As much of an address as is kept with a submission. */
export function keptAddress(
  address: string | null,
  keep: ReceiverConfig['KEEP_ADDRESS'],
): string | undefined {
  if (address === null || keep === 'none') return undefined;
  const whole = normalized(address, 128);
  if (keep === 'full') return whole;
  return isIP(whole) === 4 ? whole.replace(/(?<!\d)\d+$/, '0') : normalized(whole, 48);
}

/** A header as kept with a submission: without control characters, cut, absent if blank. */
function keptText(header: string | undefined, longest: number): string | undefined {
  if (header === undefined) return undefined;
  // eslint-disable-next-line no-control-regex -- they are what this removes
  const text = header.replace(/[\u0000-\u001f\u007f-\u009f]/g, '').trim();
  return text.slice(0, longest) || undefined;
}

/** The network address that a request came from; null if a proxy wrote what is none. */
export function addressOf(request: Pick<FastifyRequest, 'ip' | 'socket'>): string | null {
  return readAddress(request.ip) ?? readAddress(request.socket.remoteAddress ?? '');
}

/** What is kept of who sent a request, by its headers and `addressOf`. */
export function senderOf(
  headers: IncomingHttpHeaders,
  address: string | null,
  keep: ReceiverConfig['KEEP_ADDRESS'],
): Pick<Submission, 'page' | 'userAgent' | 'address'> {
  const sender: Pick<Submission, 'page' | 'userAgent' | 'address'> = {};
  const page = keptText(headers.referer ?? headers.origin, 2_048);
  const userAgent = keptText(headers['user-agent'], 512);
  const kept = keptAddress(address, keep);
  if (page !== undefined) sender.page = page;
  if (userAgent !== undefined) sender.userAgent = userAgent;
  if (kept !== undefined) sender.address = kept;
  return sender;
}
