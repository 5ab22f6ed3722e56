import type { FieldError, Submission } from '@leadgate/contract';
import { normalized } from '@leadgate/leads';
import { createHash } from 'node:crypto';
import type { Store } from './open-store.ts';

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
  return normalized(text, 'NFC').trim();
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

export function labelErrors(label: string): FieldError[] {
  return errorsOf('label', displayTextFault(label));
}

function errorsOf(what: string, fault: string | null): FieldError[] {
  return fault === null
    ? []
    : [{ pointer: `/${what}`, code: 'invalid', detail: `The ${what} ${fault}.` }];
}

const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0');

/**
 * Every text of a JSON value as Postgres can hold it, in a text column or in jsonb, keys of objects included:
 * NUL goes, half a surrogate pair becomes U+FFFD. The shape stays, and what holds nothing of these is not
 * copied: almost all is.
 */
export function storableTexts<T>(value: T): T {
  return holdsOnlyStorable(value) ? value : (cleaned(value) as T);
}

function holdsOnlyStorable(value: unknown): boolean {
  if (typeof value === 'string') return isStorable(value);
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(holdsOnlyStorable);
  for (const key in value)
    if (!isStorable(key) || !holdsOnlyStorable(value[key as never])) return false;
  return true;
}

const cleanText = (text: string): string => text.replaceAll('\0', '').toWellFormed();

function cleaned(value: unknown): unknown {
  if (typeof value === 'string') return cleanText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(cleaned);
  const entries = Object.entries(value).map(([key, item]) => [cleanText(key), cleaned(item)]);
  return Object.fromEntries(entries) as unknown;
}

/** The submission with texts that Postgres can hold, and with ids as Postgres gives them back. */
export function storable(submission: Submission): Submission {
  const clean = storableTexts(submission);
  // As almost all are: a copy of each would take longer than looking.
  if (hasLowerIds(clean)) return clean;
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

const isLower = (id: string): boolean => id === id.toLowerCase();

const hasLowerIds = (one: Submission): boolean =>
  isLower(one.id) &&
  isLower(one.workspaceId) &&
  isLower(one.linkId) &&
  isLower(one.leadId) &&
  (one.answeredLeadId === undefined || isLower(one.answeredLeadId)) &&
  one.identities.every(({ owner }) => owner === null || isLower(owner));

/** Microseconds since 1970 as an ISO 8601 time in UTC, to the millisecond. */
export function isoTime(microseconds: number): string {
  return new Date(microseconds / 1000).toISOString();
}

/** A time as stamps and orders count it: microseconds since 1970. */
export const microseconds = (time: Date): number => time.getTime() * 1_000;

/** The time by Postgres's clock. */
export async function databaseTime(store: Store): Promise<Date> {
  const [row] = await store.prisma.$queryRaw<[{ now: Date }]>`SELECT clock_timestamp() AS now`;
  return row.now;
}

/** The UUIDv8 (RFC 9562) of a SHA-256 of the text: the same everywhere, and telling nothing of it. */
export function hashedUuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  const variant = ((parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
