import {
  ADDRESS_FIELDS,
  type AddressField,
  type Lead,
  ATTRIBUTION_FIELDS,
  CLICK_IDS,
  UTM_FIELDS,
  type Attribution,
  type AttributionField,
  type Touch,
} from '@leadgate/contract';
import {
  type Findings,
  INVISIBLE,
  isBlank,
  isJsonObject,
  isMask,
  isWholeNumber,
  normalized,
  NOT_AN_OBJECT,
  own,
  type Reading,
  readText,
  readTextOrInteger,
  type Refusal,
  withoutEntities,
  cutText,
  type JsonObject,
  jsonPointer,
  opened,
  foldDigits,
} from './reading.ts';

const CPF = /^\d{11}$/;
/** Letters since July 2026 (Instrução Normativa RFB 2.229/2024); the check digits stay digits. */
const CNPJ = /^[0-9A-Z]{12}\d{2}$/;
/** What kind of document it is, before it or after. */
const WORDS =
  /^\W*(?:C\.?P\.?F|C\.?N\.?P\.?J|documento)\b(?:[\s.:]*\/\s*(?:CPF|CNPJ|MF)\b)?(?:\W*n(?:[ºo°]|[uú]mero)?(?=\W|\d))?/iu;
const WORDS_AFTER = /(?<!\W)\W+(?:CPF|CNPJ)$/i;
/** What stands around: brackets, colons. */
const AROUND = /^\W+|(?<!\W)\W+$/g;
const PUNCTUATION = /[\s./\u2010-\u2015-]+/g;

const CPF_WEIGHTS = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2];
const CNPJ_WEIGHTS = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];

const NOT_A_DOCUMENT: Refusal = {
  code: 'not-a-document',
  detail:
    'Send a CPF (11 digits) or a CNPJ (14 digits or letters, the last two digits); dots, dashes and slashes may stand among them.',
};

/**
 * A CPF or CNPJ without punctuation, letters in upper case. A JSON integer has lost its leading
 * zeros: it is padded to a CPF, or to a CNPJ if it is too long for one. Check digits are not
 * looked at: see `hasRightCheckDigits`.
 */
export function readDocument(value: unknown): Reading {
  if (typeof value === 'number') return isWholeNumber(value) ? padded(value) : NOT_A_DOCUMENT;
  const text = readText(value, undefined, INVISIBLE);
  if (typeof text !== 'string') return text;
  const bare = foldDigits(text)
    .replace(AROUND, '')
    .replace(WORDS, '')
    .replace(WORDS_AFTER, '')
    .replace(AROUND, '')
    .replace(/^(\d{8,})\.0+$/, '$1');
  const document = bare.replace(PUNCTUATION, '').toUpperCase();
  if (CPF.test(document)) return document;
  // Words of fourteen letters have the form too, and one in a hundred the check digits.
  if (CNPJ.test(document))
    return /^\d+$/.test(document) ||
      (/^\D*\d.*\d\d$/.test(document) && hasRightCheckDigits(document))
      ? document
      : NOT_A_DOCUMENT;
  // A date has punctuation, and one in a hundred the check digits.
  return /^\d{8,13}$/.test(bare) ? paddedIfRight(bare) : NOT_A_DOCUMENT;
}

/** A text cell loses leading zeros as a number does; here the check digits say that it did. */
function paddedIfRight(digits: string): string | Refusal {
  const forms = [digits.padStart(14, '0'), digits.replace(/^0+/, '').padStart(11, '0')];
  const right = forms.find((form) => /^(?:.{11}|.{14})$/.test(form) && hasRightCheckDigits(form));
  return right ?? NOT_A_DOCUMENT;
}

function padded(value: number): string | Refusal {
  const digits = String(value);
  if (digits.length > 14) return NOT_A_DOCUMENT;
  return digits.padStart(digits.length > 11 ? 14 : 11, '0');
}

/**
 * Whether both check digits of a document (as `readDocument` gives it) are right. One digit
 * repeated all along passes the sum and is no document: the Receita Federal gives none out.
 */
export function hasRightCheckDigits(document: string): boolean {
  if (/^(.)\1*$/.test(document)) return false;
  const weights = document.length === 11 ? CPF_WEIGHTS : CNPJ_WEIGHTS;
  const first = checkDigit(document, weights.slice(1));
  return document.endsWith(`${first}${checkDigit(document, weights)}`);
}

/** Modulo 11 over as many characters as there are weights, each worth its ASCII code less 48. */
function checkDigit(document: string, weights: number[]): number {
  const sum = weights.reduce((sum, weight, i) => sum + weight * (document.charCodeAt(i) - 48), 0);
  const rest = sum % 11;
  return rest < 2 ? 0 : 11 - rest;
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Whether a text is a day of the calendar as YYYY-MM-DD. Counted, not asked of `Date`, which has a
 * time zone and rolls the 31st of February over into March.
 */
export function isCalendarDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0);
  return year > 0 && day >= 1 && day <= days;
}

const NOT_A_BIRTHDAY: Refusal = {
  code: 'not-a-birthday',
  detail: 'Send a real date as YYYY-MM-DD, from 1900-01-01 to today.',
};

/** What stands for no date: a mask's letters, zeros of MySQL, JavaScript's word. */
const NO_DATE =
  /^(?:[0\-/.]+(?:[T ][0:.]+Z?)?|[dmya]{1,4}([-/.])[dmya]{1,4}\1[dmya]{1,4}|invalid date)$/i;

/** A date of birth, YYYY-MM-DD; `today` in the same form. A timestamp is not a date. */
export function readBirthday(value: unknown, today: string): Reading {
  const text = readText(value);
  if (typeof text !== 'string') return text;
  if (NO_DATE.test(text)) return undefined;
  // Dates in this form sort as text.
  const isBirthday = isCalendarDate(text) && text >= '1900-01-01' && text <= today;
  return isBirthday ? text : NOT_A_BIRTHDAY;
}

const ADDRESS_KEYS = new Set<string>(ADDRESS_FIELDS);

export const isAddressKey = (key: string): boolean => ADDRESS_KEYS.has(key);
const NUMERIC = new Set<AddressField>(['number', 'zipCode']);

/** The address of a body, subfield by subfield; absent if nothing of it was sent. */
export function readAddress(value: unknown, findings: Findings): Lead['address'] {
  if (isBlank(value)) return undefined;
  if (!isJsonObject(value)) {
    findings.refuse(NOT_AN_OBJECT, '/address');
    return undefined;
  }
  const address: NonNullable<Lead['address']> = {};
  let isEmpty = true;
  for (const field of ADDRESS_FIELDS) {
    const read = NUMERIC.has(field) ? readTextOrInteger : readText;
    const sent = own(value, field);
    const plain = withoutEntities(sent);
    if (plain !== sent) findings.note(`/address/${field}`, 'html-entities');
    const text = findings.accept(read(plain), `/address/${field}`);
    if (text === undefined || isMask(text)) continue;
    address[field] = text;
    isEmpty = false;
  }
  for (const key of Object.keys(value))
    if (!ADDRESS_KEYS.has(key)) findings.unknownKey(key, 'address');
  return isEmpty ? undefined : address;
}

/** Names of Brazil's states and federal district, folded as `fold` does, to their UF (IBGE). */
const UF_BY_NAME = new Map([
  ['acre', 'AC'],
  ['alagoas', 'AL'],
  ['amapa', 'AP'],
  ['amazonas', 'AM'],
  ['bahia', 'BA'],
  ['ceara', 'CE'],
  ['distrito federal', 'DF'],
  ['espirito santo', 'ES'],
  ['goias', 'GO'],
  ['maranhao', 'MA'],
  ['mato grosso', 'MT'],
  ['mato grosso do sul', 'MS'],
  ['minas gerais', 'MG'],
  ['para', 'PA'],
  ['paraiba', 'PB'],
  ['parana', 'PR'],
  ['pernambuco', 'PE'],
  ['piaui', 'PI'],
  ['rio de janeiro', 'RJ'],
  ['rio grande do norte', 'RN'],
  ['rio grande do sul', 'RS'],
  ['rondonia', 'RO'],
  ['roraima', 'RR'],
  ['santa catarina', 'SC'],
  ['sao paulo', 'SP'],
  ['sergipe', 'SE'],
  ['tocantins', 'TO'],
]);

const ACCENTS = /\p{M}+/gu;
const GAPS = /[\s-]+/g;
const fold = (name: string) =>
  normalized(name, 'NFD').replace(ACCENTS, '').replace(GAPS, ' ').toLowerCase();

/**
 * A state: two letters in upper case; the name of a Brazilian state, in any case, with or without
 * accents, as its UF, whatever the workspace's country; anything else as it is.
 */
export function readState(value: unknown): Reading {
  const text = readText(value);
  if (typeof text !== 'string') return text;
  if (/^[a-z]{2}$/i.test(text)) return text.toUpperCase();
  return UF_BY_NAME.get(fold(text)) ?? text;
}

/** What a touch says is cut, not refused: ad platforms write it, not the sender. */
export const MARK_LIMIT = 2_048;

/** Other names of click ids: in addresses, and of Meta's cookies. */
const ALIASES: Partial<Record<AttributionField, string>> = {
  liFatId: 'li_fat_id',
  fbc: '_fbc',
  fbp: '_fbp',
};

/** The keys of a body's top level by which click ids are known, as plain forms send them. */
export const CLICK_ID_KEYS: readonly string[] = [...CLICK_IDS, ...Object.values(ALIASES)];

/** Where each field may stand: under its names in `attribution` and, of a click id, beside it. */
const PLACES = ATTRIBUTION_FIELDS.map((field) => {
  const isBeside = (CLICK_IDS as readonly string[]).includes(field);
  const alias = ALIASES[field];
  return { field, names: alias === undefined ? [field] : [field, alias], isBeside };
});
type Place = (typeof PLACES)[number];

const BESIDE = new Set<string>(CLICK_ID_KEYS);
const ATTRIBUTION_KEYS = new Set<string>(PLACES.flatMap(({ names }) => names));

export const isAttributionKey = (key: string): boolean => ATTRIBUTION_KEYS.has(key);

/**
 * Where a body says that its lead came from: `attribution`, and click ids at the top level. Nothing here
 * refuses a lead: a value that cannot be taken is set aside.
 */
export function readAttribution(body: JsonObject, findings: Findings): Attribution | undefined {
  const sent = opened(own(body, 'attribution'));
  const inside = isJsonObject(sent) ? sent : {};
  if (!isBlank(sent) && sent !== inside)
    findings.note('/attribution', 'set-aside', NOT_AN_OBJECT.detail);
  for (const key of Object.keys(inside))
    if (!ATTRIBUTION_KEYS.has(key)) findings.unknownKey(key, 'attribution');

  if (inside !== sent && !Object.keys(body).some((key) => BESIDE.has(key))) return undefined;
  const attribution: Attribution = {};
  for (const place of PLACES) {
    const { field } = place;
    const found = find(place, inside, body);
    if (found === undefined) continue;
    const text = field === 'clickedAt' ? readTime(found.value) : readMark(found, findings);
    if (text === undefined) findings.note(found.pointer, 'set-aside', DETAILS[field]);
    else attribution[field] = text;
  }
  return Object.keys(attribution).length > 0 ? attribution : undefined;
}

const DETAILS: Partial<Record<AttributionField, string>> = {
  clickedAt: 'Send a time with its zone: 2026-11-28T14:00:00Z.',
};

interface Found {
  value: unknown;
  pointer: string;
}

function find({ names, isBeside }: Place, inside: JsonObject, body: JsonObject): Found | undefined {
  for (const name of names) {
    const value = own(inside, name);
    if (!isBlank(value)) return { value, pointer: jsonPointer('attribution', name) };
  }
  if (!isBeside) return undefined;
  for (const name of names) {
    const value = own(body, name);
    if (!isBlank(value)) return { value, pointer: jsonPointer(name) };
  }
  return undefined;
}

/** Undefined if it is no text; of a list, as of a parameter that stood twice, the first. */
function readMark({ value, pointer }: Found, findings: Findings): string | undefined {
  const [first, ...others] = Array.isArray(value) ? (value as unknown[]) : [value];
  if (others.length > 0) findings.note(pointer, 'first-of-several');
  const text = readText(isWholeNumber(first) ? String(first) : first, Infinity);
  if (typeof text !== 'string') return undefined;
  const cut = cutText(text, MARK_LIMIT).trimEnd();
  if (cut !== text) findings.note(pointer, 'cut', `at ${MARK_LIMIT} characters`);
  return cut;
}

const WITH_ZONE = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/i;

/** A time with its zone, or seconds or milliseconds since 1970, as ISO 8601 in UTC. */
function readTime(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined;
  const text = String(value).trim();
  const ms = /^\d{13}$/.test(text)
    ? Number(text)
    : /^\d{10}$/.test(text)
      ? Number(text) * 1_000
      : WITH_ZONE.test(text)
        ? Date.parse(text.replace(' ', 'T'))
        : NaN;
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/**
 * The touch that a lead tells of; null for none. A utm field or a click makes one: the name of a browser
 * (`fbp`), a page or a referrer alone stand in every post.
 */
export function touchOf(lead: Lead): Touch | null {
  const { attribution } = lead;
  const hasClick = CLICK_IDS.some((id) => id !== 'fbp' && attribution?.[id] !== undefined);
  const touch: Touch = {};
  for (const field of UTM_FIELDS) if (lead[field] !== undefined) touch[field] = lead[field];
  if (!hasClick && Object.keys(touch).length === 0) return null;
  return { ...touch, ...(attribution !== undefined && { attribution }) };
}
