import type { FieldError, Note, NoteCode } from '@leadgate/contract';
import { decodeHTMLStrict } from 'entities';
import { INVISIBLE, cleanText, customFieldKey, cutText, isLonger, storable } from './text.ts';

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
/** What JavaScript writes for nothing. */
const NOTHING = new Set(['null', 'undefined', 'NaN', '[object Object]']);

/** Whether a text is what a mask, a script or a careful hand leaves in an empty field: `__/__/____`. */
export function isMask(value: unknown): boolean {
  if (typeof value !== 'string') return false;
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
