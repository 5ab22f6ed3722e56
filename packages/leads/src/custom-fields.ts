import type {
  CustomField,
  CustomFieldType,
  CustomValue,
  Lead,
  Note,
  NoteCode,
} from '@leadgate/contract';
import { isCalendarDate } from './values.ts';
import {
  booleanOfWord,
  cleanText,
  compareCodePoints,
  customFieldKey,
  cutText,
  type Findings,
  isBlank,
  isJsonObject,
  isMask,
  isStorable,
  jsonPointer,
  NOT_AN_OBJECT,
  type Refusal,
} from './reading.ts';

const KEY_LIMIT = 100;
const ITEM_LIMIT = 100;
/** Room for a long answer in a text area; a whole body is at most 64 KiB. */
const TEXT_LIMIT = 10_000;

const TOO_MANY_KEYS: Refusal = {
  code: 'too-many-keys',
  detail: `Send at most ${KEY_LIMIT} custom fields.`,
};
/** The detail of a note on what no type of field takes. */
export const NO_CUSTOM_VALUE = 'Send text, a number, true or false, or an array of these.';

/**
 * The custom fields of a body by the keys as sent: which field a key means is decided where the
 * workspace's fields are known (`resolveCustomFields`). Texts are cleaned, blank ones are absent. No
 * value is refused: what no field can take is noted and ignored, and what is too long is cut.
 */
export function readCustomFields(value: unknown, findings: Findings): Lead['customFields'] {
  if (isBlank(value)) return undefined;
  if (!isJsonObject(value)) {
    findings.refuse(NOT_AN_OBJECT, '/customFields');
    return undefined;
  }
  const sent = Object.entries(value);
  if (sent.length > KEY_LIMIT) {
    findings.refuse(TOO_MANY_KEYS, '/customFields');
    return undefined;
  }
  const kept: [string, CustomValue][] = [];
  for (const [key, sentValue] of sent) {
    const note = (code: NoteCode, detail?: string) =>
      findings.note(jsonPointer('customFields', key), code, detail);
    const custom = readCustomValue(sentValue, note);
    if (custom === undefined) continue;
    if (isStorable(key)) kept.push([key, custom]);
    else note('unknown-custom-field');
  }
  // fromEntries defines each key as its own, `__proto__` too.
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** Of the keys of a form that are no field of a lead, as many as a form has. */
const OTHER_KEYS_LIMIT = 100;
const OTHER_TEXT_LIMIT = 16_384;

/**
 * What a form says under keys that are no field of a lead, as custom fields can take it: whether one of
 * them has such a name is decided later. What is left out stays an unknown key.
 */
export function readOtherKeys(entries: readonly [string, unknown][]): Lead['otherKeys'] {
  const kept: [string, CustomValue][] = [];
  let room = OTHER_TEXT_LIMIT;
  for (const [key, value] of entries) {
    if (kept.length === OTHER_KEYS_LIMIT) break;
    if (key.length > KEY_LENGTH || !isStorable(key)) continue;
    const custom = readCustomValue(value, () => undefined);
    if (custom === undefined) continue;
    const size = key.length + JSON.stringify(custom).length;
    if (size > room) continue;
    room -= size;
    kept.push([key, custom]);
  }
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

/** No name of a custom field is longer. */
const KEY_LENGTH = 200;

type TakeNote = (code: NoteCode, detail?: string) => void;

function readCustomValue(value: unknown, note: TakeNote): CustomValue | undefined {
  if (Array.isArray(value)) return readCustomItems(value, note);
  const scalar = readScalar(value, note);
  if (scalar === null) note('invalid-custom-value', NO_CUSTOM_VALUE);
  return scalar ?? undefined;
}

/** Of an array, the items that are texts, numbers, true or false. One note says that some are not. */
function readCustomItems(items: readonly unknown[], note: TakeNote): string[] | undefined {
  const texts: string[] = [];
  const faults = new Set<string>();
  if (items.length > ITEM_LIMIT) note('cut', `at ${ITEM_LIMIT} items`);
  for (const item of items.slice(0, ITEM_LIMIT)) {
    const scalar = readScalar(item, (_, detail = '') => faults.add(detail));
    if (scalar === null) faults.add(NO_CUSTOM_VALUE);
    else if (scalar !== undefined) texts.push(String(scalar));
  }
  for (const detail of faults)
    note(detail === NO_CUSTOM_VALUE ? 'invalid-custom-value' : 'cut', detail);
  return texts.length === 0 ? undefined : texts;
}

/** A text, number or boolean; undefined if nothing was sent, null if it is something else. */
function readScalar(value: unknown, note: TakeNote): string | number | boolean | undefined | null {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'boolean') return value;
  // JSON.parse reads 1e999 as Infinity, and -0 as a zero that Postgres does not tell from 0.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (typeof value !== 'string') return null;
  const text = cleanText(value);
  // A mask nobody filled in. A dash may be an answer.
  if (text.includes('_') && isMask(text)) return undefined;
  const cut = cutText(text, TEXT_LIMIT).trimEnd();
  if (cut !== text) note('cut', `at ${TEXT_LIMIT} characters`);
  return cut === '' ? undefined : cut;
}

/** A value as the type of its field has it, and what could not be taken and what would be right. */
interface Converted {
  value?: CustomValue;
  fault?: string;
}

/** One separator at most: `1.234,56` and `1,234.56` say different things in different countries. */
const DECIMAL = /^[+-]?\d+(?:[.,]\d+)?$/;
/** `5.000` is five in one country and five thousand in another: not guessed. */
const AMBIGUOUS = /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/;
/** Digits that every double keeps (IEEE 754: 15 significant decimal digits). */
const EXACT_DIGITS = 15;

const FAULTS: Record<CustomFieldType, string> = {
  text: 'Send text, a number, true or false.',
  number: 'Send a number of at most 15 digits, such as 1234.56 or 1234,56.',
  boolean: 'Send true or false.',
  date: 'Send a real date as YYYY-MM-DD.',
  select: 'Send one of the options of the field.',
  'multi-select': 'Send options of the field; what is none of them was ignored.',
};

/**
 * A sent value as the field's type has it; no value if the type cannot take it. Of a
 * multi-select, the items that are options are kept, once each and in the order of the options.
 */
export function convertCustomValue(sent: CustomValue | undefined, field: CustomField): Converted {
  if (field.type === 'multi-select') return convertItems(sent, field.options);
  const value = convertOne(sent, field);
  return value === undefined ? { fault: FAULTS[field.type] } : { value };
}

function convertOne(sent: CustomValue | undefined, field: CustomField): CustomValue | undefined {
  if (sent === undefined || Array.isArray(sent)) return undefined;
  const text = String(sent);
  switch (field.type) {
    case 'text':
      return text;
    case 'number':
      return typeof sent === 'number' ? sent : toNumber(text, sent);
    case 'boolean':
      return booleanOfWord(text);
    case 'date':
      return isCalendarDate(text) ? text : undefined;
    default:
      return findOption(field.options, text);
  }
}

function toNumber(text: string, sent: string | boolean): number | undefined {
  if (typeof sent === 'boolean' || !DECIMAL.test(text) || AMBIGUOUS.test(text)) return undefined;
  const digits = text.replace(/^[+-]?0*|[.,]/g, '');
  return digits.length > EXACT_DIGITS ? undefined : Number(text.replace(',', '.')) + 0;
}

function convertItems(sent: CustomValue | undefined, options: readonly string[]): Converted {
  const items = Array.isArray(sent)
    ? sent
    : sent === undefined
      ? []
      : itemsOf(String(sent), options);
  const found = new Set(items.map((item) => findOption(options, item)));
  const value = options.filter((option, i) => found.has(option) && options.indexOf(option) === i);
  return {
    ...(value.length > 0 && { value }),
    ...(found.has(undefined) && { fault: FAULTS['multi-select'] }),
  };
}

/** Options with commas between, as a spreadsheet writes them; of an option with a comma all its parts. */
function itemsOf(text: string, options: readonly string[]): string[] {
  if (findOption(options, text) !== undefined) return [text];
  const most = Math.max(1, ...options.map((option) => option.split(',').length));
  return text.split(/[;|\n]/).flatMap((part) => {
    const pieces = part.split(',').slice(0, ITEM_LIMIT);
    const items: string[] = [];
    for (let at = 0; at < pieces.length;) {
      let end = Math.min(at + most, pieces.length);
      while (end > at + 1 && findOption(options, pieces.slice(at, end).join()) === undefined)
        end -= 1;
      items.push(pieces.slice(at, end).join());
      at = end;
    }
    return items.filter((item) => item.trim() !== '');
  });
}

/** The option that a text is, exactly or else folded; none if folding leaves two. */
function findOption(options: readonly string[], text: string): string | undefined {
  if (options.includes(text)) return text;
  const key = customFieldKey(text);
  const folded = options.filter((option) => customFieldKey(option) === key);
  return folded.length === 1 ? folded[0] : undefined;
}

/** What can stand in a key, the stronger first. */
const NAMES = ['id', 'name', 'label'] as const;

/** A key that names one field, and how well: lower ranks win. */
interface Match {
  key: string;
  field: CustomField;
  rank: number;
}

/**
 * What the custom fields of a body come to under the workspace's definitions, by field id. A key is
 * a field's exact id, else its name, else its label, else one of these without regard to case,
 * accents' form and surrounding space. Of two keys for one field, id beats name beats label, exact
 * beats folded, then the lower by code point wins, whatever its value. What is ignored is noted: an
 * unknown key (archived fields are unknown), a name or label of several fields, a key that lost,
 * and a value that the field's type cannot take. The order of keys in the body changes nothing.
 */
export function resolveCustomFields(
  { customFields = {}, otherKeys = {} }: Pick<Lead, 'customFields' | 'otherKeys'>,
  fields: readonly CustomField[],
): { values: Record<string, CustomValue>; notes: Note[] } {
  const keys = Object.keys(customFields).sort(compareCodePoints);
  const others = Object.keys(otherKeys).sort(compareCodePoints);
  if (keys.length + others.length === 0) return { values: {}, notes: [] };
  const find = finderOf(fields);
  const winners = new Map<string, Match>();
  const notes: Note[] = [];
  const noteAt = (field: string, code: NoteCode, detail?: string) =>
    notes.push({ field, code, ...(detail !== undefined && { detail }) });
  const note = (key: string, code: NoteCode, detail?: string) =>
    noteAt(jsonPointer('customFields', key), code, detail);

  for (const key of keys) {
    const match = find(key);
    if (match === 'unknown') note(key, 'unknown-custom-field');
    else if (match === 'ambiguous') note(key, 'ambiguous-custom-field');
    else {
      const rival = winners.get(match.field.id);
      // Keys come in order of code points: of equal ranks the first stays.
      const isBetter = rival === undefined || match.rank < rival.rank;
      if (isBetter) winners.set(match.field.id, match);
      if (rival !== undefined) note(isBetter ? rival.key : key, 'overridden-custom-field');
    }
  }

  const values: [string, CustomValue][] = [];
  for (const { key, field } of winners.values()) {
    const { value, fault } = convertCustomValue(customFields[key], field);
    if (value !== undefined) values.push([field.id, value]);
    if (fault !== undefined) note(key, 'invalid-custom-value', fault);
  }
  for (const key of others) {
    const match = find(key);
    if (typeof match === 'string' || match.field.name !== key) continue;
    const pointer = jsonPointer(key);
    if (winners.has(match.field.id)) {
      noteAt(pointer, 'overridden-custom-field');
      continue;
    }
    const { value, fault } = convertCustomValue(otherKeys[key], match.field);
    if (value !== undefined) values.push([match.field.id, value]);
    noteAt(pointer, 'top-level-custom-field');
    if (fault !== undefined) noteAt(pointer, 'invalid-custom-value', fault);
  }
  return { values: Object.fromEntries(values), notes };
}

type Find = (key: string) => Match | 'unknown' | 'ambiguous';

/** By the array: whoever resolves many submissions hands in the same one. */
const finders = new WeakMap<readonly CustomField[], Find>();

function finderOf(fields: readonly CustomField[]): Find {
  const known = finders.get(fields);
  if (known !== undefined) return known;
  const find = createFinder(fields.filter((field) => !field.archived));
  finders.set(fields, find);
  return find;
}

function createFinder(fields: readonly CustomField[]): Find {
  const exact = NAMES.map((name) => indexOf(fields, (field) => field[name]));
  const folded = NAMES.map((name) => indexOf(fields, (field) => customFieldKey(field[name])));
  return (key) => {
    const level = exact.findIndex((index) => index.has(key));
    if (level >= 0) return matchOf(key, exact[level]?.get(key), 2 * level);
    const foldedKey = customFieldKey(key);
    const loose = folded.findIndex((index) => index.has(foldedKey));
    return matchOf(key, folded[loose]?.get(foldedKey), 2 * loose + 1);
  };
}

function matchOf(
  key: string,
  found: CustomField | 'several' | undefined,
  rank: number,
): ReturnType<Find> {
  if (found === undefined) return 'unknown';
  return found === 'several' ? 'ambiguous' : { key, field: found, rank };
}

function indexOf(
  fields: readonly CustomField[],
  textOf: (field: CustomField) => string,
): Map<string, CustomField | 'several'> {
  const index = new Map<string, CustomField | 'several'>();
  for (const field of fields) {
    const text = textOf(field);
    index.set(text, index.has(text) ? 'several' : field);
  }
  return index;
}
