import type { BodyType, Note } from '@leadgate/contract';
import { isUtf8 } from 'node:buffer';
import iconv from 'iconv-lite';
import { parse } from 'qs';
import { isAttributionKey, isAddressKey } from './values.ts';
import { foldDigits, exactJson, isJsonObject, jsonText } from './reading.ts';
import { readEmail, phoneKeyOf } from './identity.ts';
import { isConsentKey, isLeadKey } from './lead.ts';

/** The encodings that bodies are read in. ISO-8859-1 means windows-1252, as in a browser. */
export type Charset = 'utf-8' | 'windows-1252' | 'utf-16';

const NOT_UTF8: Note = { field: '', code: 'not-utf-8' };

interface Decoded {
  text: string;
  notes: Note[];
}

/**
 * A body's bytes as text, without a byte order mark. What says nothing, or wrongly UTF-8, is read as
 * windows-1252, with a note, unless it begins as UTF-16 does.
 */
export function decodeText(bytes: Buffer, charset?: Charset): Decoded {
  const [first, second] = [bytes[0], bytes[1]];
  const hasMark = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff);
  const isUtf16 = charset === 'utf-16' || hasMark;
  if (isUtf16) return { text: iconv.decode(bytes, 'utf-16'), notes: [] };
  if (charset === 'windows-1252') return { text: iconv.decode(bytes, charset), notes: [] };
  const { text, notes } = decodeUnsaid(bytes);
  return { text: text.charCodeAt(0) === 0xfeff ? text.slice(1) : text, notes };
}

function decodeUnsaid(bytes: Buffer): Decoded {
  return isUtf8(bytes)
    ? { text: bytes.toString('utf8'), notes: [] }
    : { text: iconv.decode(bytes, 'windows-1252'), notes: [NOT_UTF8] };
}

export type ParsedBody =
  | { kind: 'parsed'; value: unknown; notes: Note[] }
  | { kind: 'empty' }
  | { kind: 'malformed' }
  /** A form of more fields than anyone fills in: what is beyond would be lost without a word. */
  | { kind: 'too-many-fields' };

const FORM_FIELDS = 1_000;
const REPEATS = 100;

/** A body's text as a value. A form that is JSON is read as JSON. */
export function parseBody(text: string, type: BodyType): ParsedBody {
  if (text.trim() === '') return { kind: 'empty' };
  if (type === 'json') return parseJson(text);
  return jsonInForm(text) ?? parseForm(text);
}

// JSON.parse makes `__proto__` an own property, which is harmless until it is assigned.
function parseJson(text: string): ParsedBody {
  try {
    return { kind: 'parsed', value: exactJson(text), notes: [] };
  } catch {
    return { kind: 'malformed' };
  }
}

/** An object that was sent as a form, as `curl -d` does without a header: as it is, or percent-encoded. */
const isJsonInForm = (text: string): boolean => /^(?:\s|\+|%20|%EF%BB%BF)*(?:\{|%7b)/i.test(text);

/** The JSON that a form is; null if it is none. What begins as an object is meant as one. */
function jsonInForm(text: string): ParsedBody | null {
  const isObject = isJsonInForm(text);
  if (!isObject && !/^\s*(?:[["\d-]|%5b|%22|true|false|null)/i.test(text)) return null;
  const plain = parseJson(text);
  if (plain.kind === 'parsed') return plain;
  // Some programs take the whole for the name of a field, and write `=` after it.
  const bare = text.replace(/=\s*$/, '');
  const decoded = /^\s*[{["]/.test(bare) ? bare : decodeFormText(bare).text;
  const parsed = parseJson(decoded.replace(/^\ufeff/, ''));
  return isObject || parsed.kind === 'parsed' ? parsed : null;
}

/**
 * A form with bracketed names: `address[city]`, `customFields[plan]`, `customFields[tags][]`. Of a
 * lead's own field that is repeated the last counts; of what may be a custom field, all do.
 */
function parseForm(text: string): ParsedBody {
  let notes: Note[] = [];
  const decoder = (escaped: string): string => {
    const decoded = decodeFormText(escaped);
    if (decoded.notes.length > 0) ({ notes } = decoded);
    return decoded.text;
  };
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
      decoder,
    });
    const value: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
    for (const [name, field] of Object.entries(fields)) value[name] = topLevel(name, field);
    return { kind: 'parsed', value, notes };
  } catch (error) {
    if (error instanceof RangeError) return { kind: 'too-many-fields' };
    throw error;
  }
}

/** A name or value of a form. Old pages escape the bytes of windows-1252. */
function decodeFormText(text: string): Decoded {
  let notes: Note[] = [];
  const decoded = text.replaceAll('+', ' ').replace(/(?:%[\da-f]{2})+/gi, (escapes) => {
    const one = decodeUnsaid(Buffer.from(escapes.replaceAll('%', ''), 'hex'));
    if (one.notes.length > 0) ({ notes } = one);
    return one.text;
  });
  return { text: decoded, notes };
}

const last = (value: unknown): unknown =>
  Array.isArray(value) ? (value as unknown[]).at(-1) : value;

/** The answer of a widget, which stands in a form once for each widget. */
const CAPTCHA = /-(?:captcha|recaptcha|turnstile)-response$/;

function topLevel(name: string, field: unknown): unknown {
  const isOne = isLeadKey(name) || CAPTCHA.test(name);
  if (!isOne || name.startsWith('customFields.')) return asList(field);
  const value = last(field);
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

/** Far deeper than any lead, and far from the end of the stack, which 64 KiB of `[` would reach. */
const DEEPEST = 64;

/**
 * A parsed body as JSON in which the keys of objects stand in order: equal bodies have equal texts,
 * however they were written. Null if it is too deep to be a lead.
 */
export function canonicalJson(value: unknown, depth = 0): string | null {
  if (typeof value === 'string') return jsonOfText(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (depth === DEEPEST) return null;
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) {
      const part = canonicalJson(item, depth + 1);
      if (part === null) return null;
      text += text === '' ? part : `,${part}`;
    }
    return `[${text}]`;
  }
  const object = value as Record<string, unknown>;
  for (const key of Object.keys(object).sort()) {
    const part = canonicalJson(object[key], depth + 1);
    if (part === null) return null;
    text += `${text === '' ? '' : ','}${jsonOfText(key)}:${part}`;
  }
  return `{${text}}`;
}

/** Nothing in it that JSON escapes: most texts of most posts. */
const UNESCAPED = /^[ !#-[\]-~\u00a0-\ud7ff\ue000-\uffff]*$/;

const jsonOfText = (text: string): string =>
  UNESCAPED.test(text) ? `"${text}"` : JSON.stringify(text);

/** Characters of names and values of unknown keys that are kept of a body: several times what forms have. */
const KEPT_OF_UNKNOWN = 8_192;

/** Within these too, a sender may put keys of its own. */
const INNER: Readonly<Record<string, (key: string) => boolean>> = {
  address: isAddressKey,
  attribution: isAttributionKey,
  consent: isConsentKey,
};

interface BodyText {
  text: string;
  type: BodyType;
}

/**
 * What is kept of a body that was read: all of it, unless its unknown keys say more than 8 KiB. Those
 * that are beyond are left out, in the order they stand in. Fields, and custom fields by whatever
 * name, always stay.
 *
 * @param value the body as it was parsed
 */
export function keptBody({ text, type }: BodyText, value: unknown): BodyText & { notes: Note[] } {
  const whole = { text, type, notes: [] };
  if (text.length <= KEPT_OF_UNKNOWN || !isJsonObject(value)) return whole;
  const room = new Room();
  const kept = type === 'form' && !isJsonInForm(text) ? ofForm(text, room) : ofObject(value, room);
  if (room.dropped === 0) return whole;
  const note: Note = {
    field: '',
    code: 'unknown-keys-dropped',
    detail: `${room.dropped} of them`,
  };
  if (typeof kept === 'string') return { text: kept, type, notes: [note] };
  const written = jsonText(kept);
  return written === null ? whole : { text: written, type: 'json', notes: [note] };
}

class Room {
  #left = KEPT_OF_UNKNOWN;
  dropped = 0;

  /** Whether there is room for so many characters; what there is none for is counted as dropped. */
  take(characters: number): boolean {
    const fits = characters <= this.#left;
    if (fits) this.#left -= characters;
    else this.dropped += 1;
    return fits;
  }
}

function ofObject(value: object, room: Room): object {
  const fits = (key: string, inner: unknown): boolean =>
    room.take(key.length + (jsonText(inner)?.length ?? Infinity));
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]: [string, unknown]): [string, unknown][] => {
      const isKnown = Object.hasOwn(INNER, key) ? INNER[key] : undefined;
      if (isKnown !== undefined && isJsonObject(inner))
        return [
          [
            key,
            Object.fromEntries(Object.entries(inner).filter(([k, v]) => isKnown(k) || fits(k, v))),
          ],
        ];
      return isField(key) || fits(key, inner) ? [[key, inner]] : [];
    }),
  );
}

/** Whether a key is that of a field: `email`, `address.city`, `address[city]`, any custom field. */
function isField(key: string): boolean {
  const [outer = '', inner = ''] = key.split(/[[\].]+/, 2);
  const isKnown = Object.hasOwn(INNER, outer) ? INNER[outer] : undefined;
  return isKnown !== undefined && inner !== '' ? isKnown(inner) : isLeadKey(outer);
}

function ofForm(text: string, room: Room): string {
  return text
    .split('&')
    .filter((pair) => {
      const name = decodeFormText(pair.split('=', 1)[0] ?? '').text;
      return isField(name) || room.take(pair.length);
    })
    .join('&');
}

/** Parts of a text that may be an email, whatever stands around them: quotes, `=` and `&` of a URL. */
const EMAILS =
  /(?<![^\s@<>,;:"'()[\]{}\\=&?|])[^\s@<>,;:"'()[\]{}\\=&?|]+@[^\s@<>,;:"'()[\]{}\\=&?|#/%]+\.[^\s@<>,;:"'()[\]{}\\=&?|#/%]+/g;
const PHONES = /[+(]?\d[\d\s().\-/]{6,24}\d/g;
/** No field that is a contact is longer; a longer text is only looked through. */
const LONGEST_CONTACT = 300;

/**
 * The identity keys of all emails and telephones that stand anywhere in a JSON value: in texts, keys,
 * numbers, and within a text that is JSON or a form itself, as bodies are kept. Finds a person in what
 * could not be read as a lead; a number that is none may be among them.
 */
export function contactsIn(value: unknown, country: string): string[] {
  const keys = new Set<string>();
  for (const text of textsOf(value, new Set())) {
    for (const email of emailsOf(text)) keys.add(`email:${email}`);
    for (const phone of phonesOf(text, country)) keys.add(`phone:${phone}`);
  }
  return [...keys];
}

/** Every text of a value, and what it says if it is written in an encoding. Each once. */
function textsOf(value: unknown, texts: Set<string>): Set<string> {
  if (typeof value === 'number') texts.add(String(value));
  else if (typeof value === 'string') {
    if (texts.has(value)) return texts;
    texts.add(value);
    if (/[%+]/.test(value)) textsOf(decodeFormText(value).text, texts);
    if (/\\[u/]/.test(value)) textsOf(parsed(value), texts);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      textsOf(key, texts);
      textsOf(item, texts);
    }
  }
  return texts;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function emailsOf(text: string): string[] {
  if (!/[@\uff20]/.test(text)) return [];
  const whole = text.length <= LONGEST_CONTACT ? [text] : [];
  return [...whole, ...(text.match(EMAILS) ?? [])]
    .map(readEmail)
    .filter((email) => typeof email === 'string');
}

function phonesOf(text: string, country: string): string[] {
  const digits = foldDigits(text);
  const whole = text.length <= LONGEST_CONTACT ? [text] : [];
  return [...whole, ...(digits.match(PHONES) ?? [])]
    .map((part) => phoneKeyOf(part, country))
    .filter((phone) => phone !== null);
}
