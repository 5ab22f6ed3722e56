import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { LinkProof } from '@leadgate/contract';
import { jsonText, parseBody } from '@leadgate/leads';
import type { BodyText } from './body.ts';

/** What a post says of its sender. */
interface Claim {
  body: BodyText;
  headers: IncomingHttpHeaders;
  /** Milliseconds since 1970. */
  now: number;
}

/** A signed time may be so far from ours: what is older is a post that somebody kept. */
const TOLERANCE_MS = 5 * 60_000;

/**
 * The body of a post that is its sender's by the proof that its link asks for, without the secret if that
 * stood in it; null if the proof is missing, wrong or too old. Never throws.
 */
export function provenBody({ by, secret }: LinkProof, claim: Claim): BodyText | null {
  const { body, headers, now } = claim;
  switch (by.way) {
    case 'body':
      return withoutKey(body, by.key, secret);
    case 'hmac': {
      const time = by.timestampHeader === undefined ? null : headerOf(headers, by.timestampHeader);
      if (time === undefined || (time !== null && !isNear(Number(time), now))) return null;
      const sent = headerOf(headers, by.header)?.trim() ?? '';
      const prefix = by.prefix ?? '';
      if (!sent.startsWith(prefix)) return null;
      const hmac = createHmac('sha256', secret).update(time === null ? '' : `${time}:`);
      const right = hmac.update(body.bytes ?? '').digest(by.encoding);
      return isSame(sent.slice(prefix.length), right) ? body : null;
    }
    case 'standard-webhooks': {
      const [id, time] = [headerOf(headers, 'webhook-id'), headerOf(headers, 'webhook-timestamp')];
      if (id === undefined || time === undefined || !isNear(Number(time) * 1_000, now)) return null;
      const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
      const hmac = createHmac('sha256', key).update(`${id}.${time}.`);
      const right = `v1,${hmac.update(body.bytes ?? '').digest('base64')}`;
      const sent = (headerOf(headers, 'webhook-signature') ?? '').split(' ').slice(0, 10);
      return sent.some((one) => isSame(one, right)) ? body : null;
    }
  }
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return Array.isArray(value) ? value[0] : value;
}

const isNear = (time: number, now: number): boolean => Math.abs(time - now) <= TOLERANCE_MS;

/** In constant time, whatever the lengths: what is compared are hashes. */
function isSame(sent: string, right: string): boolean {
  return timingSafeEqual(hash('sha256', sent, 'buffer'), hash('sha256', right, 'buffer'));
}

/** The body without its key, if that holds the secret. The rest of its text stays as it was sent. */
function withoutKey(body: BodyText, key: string, secret: string): BodyText | null {
  const parsed = parseBody(body.text, body.type);
  if (parsed.kind !== 'parsed' || !isSame(valueAt(parsed.value, key), secret)) return null;
  const { bytes: _, ...rest } = body;
  if (body.type === 'form' && !/^\s*(?:\{|%7b)/i.test(body.text)) {
    const fields = new URLSearchParams(body.text);
    fields.delete(key);
    return { ...rest, text: fields.toString() };
  }
  const text = body.text.replaceAll(JSON.stringify(secret), '""');
  const again = parseBody(text, body.type);
  const isGone = again.kind === 'parsed' && valueAt(again.value, key) === '';
  if (isGone) return { ...rest, text };
  // Written with escapes: the text is made anew.
  const written = jsonText({ ...Object(parsed.value), [key]: '' });
  return written === null ? null : { ...rest, text: written };
}

function valueAt(value: unknown, key: string): string {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return '';
  const found: unknown = (value as Record<string, unknown>)[key];
  return typeof found === 'string' ? found : '';
}
