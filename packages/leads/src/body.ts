import type { BodyType } from '@leadgate/contract';
import { unescape } from 'node:querystring';
import { parse } from 'qs';

export type ParsedBody =
  | { kind: 'parsed'; value: unknown; text: string }
  | { kind: 'empty' }
  | { kind: 'malformed'; text: string }
  /** A form of more fields than anyone fills in: what is beyond would be lost without a word. */
  | { kind: 'too-many-fields'; text: string };

const FORM_FIELDS = 1_000;
const REPEATS = 100;

/**
 * A body as a value, and its text without a byte order mark. Bytes that are not UTF-8 become U+FFFD,
 * as lone surrogates do: an old page's broken accent costs a letter, not the lead.
 */
export function parseBody(bytes: Buffer, type: BodyType): ParsedBody {
  const decoded = bytes.toString('utf8');
  const text = decoded.charCodeAt(0) === 0xfeff ? decoded.slice(1) : decoded;
  if (text.trim() === '') return { kind: 'empty' };
  if (type === 'json') return parseJson(text);
  return jsonInForm(text) ?? parseForm(text);
}

// JSON.parse makes `__proto__` an own property, which is harmless until it is assigned.
function parseJson(text: string): ParsedBody {
  try {
    return { kind: 'parsed', value: JSON.parse(text), text };
  } catch {
    return { kind: 'malformed', text };
  }
}

/** JSON that was sent as a form, as `curl -d` does without a header: as it is, or percent-encoded. */
function jsonInForm(text: string): ParsedBody | null {
  if (!/^\s*(?:\{|%7b)/i.test(text)) return null;
  const decoded = /^\s*\{/.test(text) ? text : decodeFormText(text.replace(/=\s*$/, ''));
  const parsed = parseJson(decoded);
  return parsed.kind === 'parsed' ? { ...parsed, text } : parsed;
}

/**
 * A form with bracketed names: `address[city]`, `customFields[plan]`, `customFields[tags][]`. Of a
 * name that is repeated the last counts, except within `customFields`, where all do.
 */
function parseForm(text: string): ParsedBody {
  try {
    const fields = parse(text, {
      depth: 2,
      parameterLimit: FORM_FIELDS,
      arrayLimit: REPEATS,
      throwOnLimitExceeded: true,
      // Names are people's: `customFields[0]` is a field named 0, not the first of a list.
      parseArrays: false,
      plainObjects: true,
      duplicates: 'combine',
      decoder: decodeFormText,
    });
    const value: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const [name, field] of Object.entries(fields)) value[name] = topLevel(name, last(field));
    return { kind: 'parsed', value, text };
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'too-many-fields', text };
    throw error;
  }
}

/** Percent-decoding that turns what is not UTF-8 into U+FFFD where decodeURIComponent throws. */
const decodeFormText = (text: string): string => unescape(text.replaceAll('+', ' '));

const last = (value: unknown): unknown =>
  Array.isArray(value) ? (value as unknown[]).at(-1) : value;

function topLevel(name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const shape = name === 'customFields' ? asList : last;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]));
}

/** `x[]` and `x[0]`, which qs leaves as objects of numbered keys, as the lists they stand for. */
function asList(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const keys = Object.keys(value);
  return keys.every((key) => /^\d+$/.test(key)) ? Object.values(value).flat() : value;
}
