import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';
import type { Submission } from '@leadgate/contract';
import proxyAddr from '@fastify/proxy-addr';
import { normalizeIP } from '@fastify/rate-limit';
import type { ReceiverConfig } from './config.ts';

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
