import type { FieldError, Note, NoteCode } from '@leadgate/contract';
import { decodeHTMLStrict } from 'entities';

/**
 * Printable ASCII and the letters of Western and Central Europe, which is most of what is sent: nothing in it
 * to normalise or remove. Without the space (U+00A0) and the hyphen (U+00AD) that cannot be seen.
 */
const PLAIN = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u017f]*$/;
const CONTROLS = /(?![\t\n])\p{Cc}/gu;
const LONE_SURROGATES = /\p{Surrogate}/gu;
const ALL_INVISIBLE = /^[\p{White_Space}\p{Cf}\p{Default_Ignorable_Code_Point}]*$/u;

/**
 * Zero-width characters, bidi controls, soft hyphens, variation selectors: pasted along unseen, and
 * fatal to an address or a number that is compared with another.
 */
export const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Bidi embeddings, overrides and isolates, which make a name read as another. The marks that right
 * to left names are typed with (LRM, RLM, ALM) and the joiners of emoji are not among them.
 */
export const BIDI_OVERRIDES = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text in a normal form of Unicode. The marks of a letter are put in order in a time that grows with their
 * square: of more than 30 in a row, which no language writes (UAX #15, stream-safe text), the others go.
 */
export function normalized(text: string, form: 'NFC' | 'NFD' | 'NFKD'): string {
  const bounded = text.length < LONG ? text : text.replace(MANY_MARKS, '$1');
  return bounded.normalize(form);
}

const LONG = 500;
/** The last two are marks in NFKD. */
const MANY_MARKS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;

/**
 * A text as it is stored: NFC, trimmed, without control characters but tab and newline, lone
 * surrogates as U+FFFD (Postgres takes neither NUL nor a lone surrogate). Empty if nothing of it
 * can be seen. `drop` names characters to remove besides.
 */
export function cleanText(text: string, drop?: RegExp): string {
  if (PLAIN.test(text)) return text.trim();
  const kept = drop === undefined ? text : text.replace(drop, '');
  const clean = normalized(
    kept.replace(LONE_SURROGATES, '\ufffd').replace(CONTROLS, ''),
    'NFC',
  ).trim();
  return ALL_INVISIBLE.test(clean) ? '' : clean;
}

/** Whether `text` can be stored as it is: nothing in it that `cleanText` removes or replaces. */
export function isStorable(text: string): boolean {
  return PLAIN.test(text) || (text.search(CONTROLS) < 0 && text.search(LONE_SURROGATES) < 0);
}

/** `text` with what cannot be stored replaced by U+FFFD. */
function storable(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(LONE_SURROGATES, '\ufffd').replace(CONTROLS, '\ufffd');
}

const FOREIGN_DIGITS = /[\uff10-\uff19\u0660-\u0669\u06f0-\u06f9]/g;

/** Digits of other scripts that keyboards type into telephone fields, as ASCII. */
export function foldDigits(text: string): string {
  // Every one of these blocks starts at a multiple of 16, or (Arabic) of 10 within one.
  return text.replace(FOREIGN_DIGITS, (digit) => String(digit.charCodeAt(0) & 0x0f));
}

/** Whether a text has more than `max` code points. */
export function isLonger(text: string, max: number): boolean {
  return cutText(text, max) !== text;
}

/** The first `max` code points of a text: never half a surrogate pair. */
export function cutText(text: string, max: number): string {
  // No code point is shorter than one unit, so most texts are measured without walking them.
  if (text.length <= max) return text;
  let end = 0;
  for (let count = 0; count < max && end < text.length; count += 1)
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return end === text.length ? text : text.slice(0, end);
}

/**
 * Orders texts by code point, as Postgres does in the C collation. JavaScript's own order is by
 * UTF-16 unit, which puts emoji before U+E000.
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rankOf(x) - rankOf(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above every other unit. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/**
 * A text as names of custom fields and their options are compared: NFC, trimmed, without regard to
 * case. `Profissão`, ` PROFISSÃO ` and its decomposed form are one.
 */
export function customFieldKey(text: string): string {
  // Upper case first, because lower case alone keeps ß from SS, and ς from σ.
  const known = normalized(text, 'NFC').trim().toUpperCase().toLowerCase();
  return normalized(known, 'NFC');
}

/** Why a value cannot be accepted: a stable code, and what would be right. Never the value itself. */
export interface Refusal {
  readonly code: string;
  readonly detail: string;
}

/** What a value comes to: a normal text, nothing (it was not sent), or a refusal. */
export type Reading = string | undefined | Refusal;

export const NOT_AN_OBJECT: Refusal = { code: 'not-an-object', detail: 'Send a JSON object.' };
const NOT_TEXT: Refusal = { code: 'not-text', detail: 'Send text.' };

export function tooLong(max: number): Refusal {
  return { code: 'too-long', detail: `Send at most ${max} characters.` };
}

function isRefusal<T>(reading: T | Refusal): reading is Refusal {
  return typeof reading === 'object' && reading !== null && 'code' in reading;
}

/** A JSON object of unknown keys: neither an array nor null. */
export type JsonObject = Readonly<Record<string, unknown>>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value of a key that was sent, never one that every object inherits. */
export function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/**
 * A JSON pointer (RFC 6901) to a value by the keys that lead to it. Pointers are stored with notes
 * and answered with errors, and a sender chooses the keys: what cannot be stored shows as U+FFFD,
 * and a key longer than 100 characters is cut.
 */
export function jsonPointer(...keys: string[]): string {
  return keys.map((key) => `/${PLAIN_KEY.test(key) ? key : escaped(key)}`).join('');
}

/** What nearly every key is, and every post has many. */
const PLAIN_KEY = /^[\w.-]{1,100}$/;

function escaped(key: string): string {
  return cutText(storable(key), 100).replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Ten characters are enough for the entity of any code point. */
const ENTITIES_LIMIT = 2_000;

/** Code points in a standard field other than those with a limit of their own. */
const TEXT_LIMIT = 200;

/** A text field: at most `max` code points when clean. Null and blank text are not sent. */
export function readText(value: unknown, max: number = TEXT_LIMIT, drop?: RegExp): Reading {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return NOT_TEXT;
  const text = cleanText(value, drop);
  if (text === '') return undefined;
  return isLonger(text, max) ? tooLong(max) : text;
}

/**
 * A text whose characters a page wrote as HTML does (`D&#039;&Aacute;vila`) as these characters,
 * however often it was written so. `&` without an entity of HTML after it stays, and so does a text
 * that is longer than any field takes.
 */
export function withoutEntities(value: unknown): unknown {
  if (typeof value !== 'string' || value.length > ENTITIES_LIMIT || !value.includes('&'))
    return value;
  for (let text = value; ;) {
    const decoded = decodeHTMLStrict(text);
    if (decoded === text) return text;
    text = decoded;
  }
}

/** As `readText`, but a JSON integer is taken for its digits. */
export function readTextOrInteger(value: unknown): Reading {
  return readText(isWholeNumber(value) ? String(value) : value);
}

/** Whether a value says that nothing was sent: null, or text with nothing to see. */
export function isBlank(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  // PHP writes an empty object as an empty array.
  if (Array.isArray(value)) return value.length === 0;
  return typeof value === 'string' && cleanText(value) === '';
}

/** A number that is safely the digits it was sent as: no sign, no fraction, exact. */
export function isWholeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

const letters = (all: string, value: boolean): [string, boolean][] =>
  [...all].map((letter) => [letter, value]);

const WORDS = new Map<string, boolean>([
  ['true', true],
  ['1', true],
  ['yes', true],
  ['sim', true],
  ['on', true],
  ['false', false],
  ['0', false],
  ['no', false],
  ['não', false],
  ['nao', false],
  ['off', false],
  ['verdadeiro', true],
  ['verdadero', true],
  ['sí', true],
  ['si', true],
  ['falso', false],
  // Of one letter, as databases and spreadsheets export them.
  ...letters('stvy', true),
  ...letters('fn', false),
]);

/** What a word says of yes and no, in any case: `on` of a checkbox, `sim`, `0`; else undefined. */
export function booleanOfWord(text: string): boolean | undefined {
  return WORDS.get(customFieldKey(text));
}

/** Unknown keys noted one by one; a body of thousands is summed up beyond. */
const UNKNOWN_KEYS_NAMED = 20;

/** An address, a telephone, or something of another syntax. */
const isLikeAValue = (key: string): boolean =>
  /@|^[\s{["<]|^[\d\s().+-]{8,}$/.test(key) || (key.includes(' ') && /\d{8}/.test(key));

/** What is found while a body is read: refused fields, and notes on what was accepted. */
export class Findings {
  readonly errors: FieldError[] = [];
  readonly #notes: Note[] = [];
  #unknownKeys = 0;

  /** The text of a reading. A refusal is put down as an error of the field and gives nothing. */
  accept(reading: Reading, pointer: string): string | undefined {
    if (!isRefusal(reading)) return reading;
    this.refuse(reading, pointer);
    return undefined;
  }

  refuse({ code, detail }: Refusal, pointer: string): void {
    this.errors.push({ pointer, code, detail });
  }

  note(field: string, code: NoteCode, detail?: string): void {
    this.#notes.push({ field, code, ...(detail !== undefined && { detail }) });
  }

  /** One that looks like a value, as the body of another form does, is not repeated. */
  unknownKey(key: string, ...outer: string[]): void {
    this.#unknownKeys += 1;
    if (this.#unknownKeys > UNKNOWN_KEYS_NAMED) return;
    this.note(jsonPointer(...outer, ...(isLikeAValue(key) ? [] : [key])), 'unknown-key');
  }

  /** Every note of a body that is accepted: what was refused of it was set aside. */
  notes(): Note[] {
    const notes: Note[] = this.errors.map(({ pointer, detail }) => ({
      field: pointer,
      code: 'set-aside',
      detail,
    }));
    notes.push(...this.#notes);
    const unnamed = this.#unknownKeys - UNKNOWN_KEYS_NAMED;
    if (unnamed > 0) notes.push({ field: '', code: 'unknown-key', detail: `and ${unnamed} more` });
    return notes;
  }
}

const MASK = /^[\s\-_./()*,;:+\u2013\u2014]*$/;
/** Neither a mask nor one of `NOTHING`, by how it begins: a digit, a letter that none of them begins with. */
const ANSWER = /^[0-9A-MO-Za-mo-tv-z]/;
/** What JavaScript writes for nothing. */
const NOTHING = new Set(['null', 'undefined', 'NaN', '[object Object]']);

/** Whether a text is what a mask, a script or a careful hand leaves in an empty field: `__/__/____`. */
export function isMask(value: unknown): boolean {
  if (typeof value !== 'string' || ANSWER.test(value)) return false;
  const text = cleanText(value, INVISIBLE);
  return MASK.test(text) || NOTHING.has(text);
}

/** So many digits may not fit into a number. */
const LONG_INTEGER = /(?:^|[:[,\s])-?\d{16}/;
/** A string, or a number as a whole. Within valid JSON digits stand in no other place. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * JSON, with integers beyond 2^53 as their digits: they are ids, and would end in other digits. Throws if
 * it is none.
 */
export function exactJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!LONG_INTEGER.test(text)) return value;
  const exact = text.replace(TOKENS, (token) =>
    /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token,
  );
  return JSON.parse(exact);
}

/** JSON of what a sender sent; null if it is nested deeper than a stack goes, as 64 KiB of `[` are. */
export function jsonText(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}

/** A text that is a JSON object or list, as a form has no other way to send one, as what it holds. */
export function opened(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*(?:\{.*\}|\[.*\])\s*$/s.test(value)) return value;
  try {
    return exactJson(value);
  } catch {
    return value;
  }
}
