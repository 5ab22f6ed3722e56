import type { FieldError, Submission } from '@leadgate/contract';

const MAX_LENGTH = 200;

// Control characters, lone surrogates, line and paragraph separators, bidi overrides: what would break a line or
// show another text than the one stored.
const UNSHOWABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a text is a UUID, as every id is. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The text of a name or label as it is stored: NFC, without blanks around it. */
export function displayText(text: string): string {
  return text.normalize('NFC').trim();
}

/** What is wrong with a text to be shown, as the end of "The label …"; null when nothing is. */
export function displayTextFault(text: string): string | null {
  if (text === '') return 'is blank';
  if (text.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  if (UNSHOWABLE.test(text)) return 'holds a control character or a line break';
  return null;
}

/** Format characters, zero-width ones among them: with them two names look like one. */
const INVISIBLE = /\p{Cf}/u;

/** What is wrong with a name: it is asked for beside ids, and no two names may look the same. */
export function nameErrors(name: string): FieldError[] {
  return errorsOf('name', displayTextFault(name) ?? nameFault(name));
}

function nameFault(name: string): string | null {
  if (isUuid(name)) return 'looks like an id';
  return INVISIBLE.test(name) ? 'holds an invisible character' : null;
}

/** What is wrong with a label. */
export function labelErrors(label: string): FieldError[] {
  return errorsOf('label', displayTextFault(label));
}

function errorsOf(what: string, fault: string | null): FieldError[] {
  return fault === null
    ? []
    : [{ pointer: `/${what}`, code: 'invalid', detail: `The ${what} ${fault}.` }];
}

/**
 * A text as Postgres can hold it, in a text column or in jsonb: NUL goes, half a surrogate pair
 * becomes U+FFFD.
 */
function cleanText(text: string): string {
  return text.includes('\0') || !text.isWellFormed()
    ? text.replaceAll('\0', '').toWellFormed()
    : text;
}

/**
 * Every text of a JSON value cleaned, keys of objects included. The shape stays, and what holds nothing
 * to clean is not copied: almost all is.
 */
export function storableTexts<T>(value: T): T {
  return cleanValue(value) as T;
}

function cleanValue(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(cleanValue);
    return items.every((item, i) => item === value[i]) ? value : items;
  }
  let isClean = true;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => {
    const entry: [string, unknown] = [cleanText(key), cleanValue(item)];
    isClean &&= entry[0] === key && entry[1] === item;
    return entry;
  });
  return isClean ? value : Object.fromEntries(entries);
}

/** The submission with texts that Postgres can hold, and with ids as Postgres gives them back. */
export function storable(submission: Submission): Submission {
  const clean = storableTexts(submission);
  const { answeredLeadId } = clean;
  return {
    ...clean,
    id: clean.id.toLowerCase(),
    workspaceId: clean.workspaceId.toLowerCase(),
    linkId: clean.linkId.toLowerCase(),
    leadId: clean.leadId.toLowerCase(),
    ...(answeredLeadId !== undefined && { answeredLeadId: answeredLeadId.toLowerCase() }),
    identities: clean.identities.map(({ key, owner }) => ({
      key,
      owner: owner === null ? null : owner.toLowerCase(),
    })),
  };
}
