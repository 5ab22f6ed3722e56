import { hash } from 'node:crypto';
import type { FieldError } from '@leadgate/contract';
import { BODY_KEY, canonicalJson } from '@leadgate/leads';

export type IdempotencyKey =
  { kind: 'none' } | { kind: 'key'; key: string } | { kind: 'invalid'; error: FieldError };

/**
 * Takes the idempotency key off a post: the header's, else the body's. Returns the key, and the
 * body without it, so that a fetch with the header and a beacon with the field are the same post.
 */
export function takeIdempotencyKey(
  header: string | undefined,
  body: unknown,
): { key: IdempotencyKey; body: unknown } {
  if (!hasBodyKey(body)) return { key: check(header, HEADER), body };
  const { [BODY_KEY]: inBody, ...rest } = body;
  const key = header?.trim() ? check(header, HEADER) : check(inBody, FIELD);
  return { key, body: rest };
}

// A header has no place in the body: the pointer is to the whole of it, and the detail names it.
const HEADER = { pointer: '', name: 'The header Idempotency-Key' };
const FIELD = { pointer: `/${BODY_KEY}`, name: `The field ${BODY_KEY}` };

function hasBodyKey(body: unknown): body is Record<string, unknown> {
  return (
    typeof body === 'object' &&
    body !== null &&
    !Array.isArray(body) &&
    Object.hasOwn(body, BODY_KEY)
  );
}

function check(value: unknown, where: { pointer: string; name: string }): IdempotencyKey {
  if (value === undefined || value === null) return { kind: 'none' };
  const key = typeof value === 'string' ? value.trim() : value;
  if (key === '') return { kind: 'none' };
  if (typeof key === 'string' && /^[\x20-\x7e]{1,255}$/.test(key)) return { kind: 'key', key };
  return {
    kind: 'invalid',
    error: {
      pointer: where.pointer,
      code: 'invalid-idempotency-key',
      detail: `${where.name} must be a text of 1 to 255 printable ASCII characters.`,
    },
  };
}

/**
 * A hash that is equal for equal bodies, however their keys are ordered and their text is spaced.
 * SHA-256, base64url. A body too deep to be written out is known by its text.
 */
export function hashBody(body: unknown, text: string): string {
  return hash('sha256', canonicalJson(body) ?? text, 'base64url');
}
