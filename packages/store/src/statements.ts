import type { PrismaPg } from '@prisma/adapter-pg';
import { setTimeout as sleep } from 'node:timers/promises';
import { failureOf, StoreError, withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import type { FieldError, Submission } from '@leadgate/contract';
import { normalized } from '@leadgate/leads';
import { createHash } from 'node:crypto';

type Driver = Awaited<ReturnType<PrismaPg['connect']>>;
type Query = Parameters<Driver['queryRaw']>[0];

type Statement<Result> = (
  statement: TemplateStringsArray | Prisma.Sql,
  ...values: readonly unknown[]
) => Promise<Result>;

/** What runs statements: Prisma's client, a transaction of its, or one of `inTransaction`. */
export interface Statements {
  $queryRaw: <T = unknown>(...statement: Parameters<Statement<T>>) => Promise<T>;
  $executeRaw: Statement<number>;
}

/**
 * Runs a transaction on Prisma's driver without its client, which writes and reads each parameter as JSON
 * once more (docs/decisions/0081). Committed when it resolves, else rolled back.
 */
export async function inTransaction<T>(
  driver: Driver,
  run: (tx: Statements) => Promise<T>,
): Promise<T> {
  const transaction = await driver.startTransaction();
  const say = (sql: string) => transaction.executeRaw({ sql, args: [], argTypes: [] });
  try {
    const result = await run(statementsOf(transaction));
    await say('COMMIT');
    return result;
  } catch (error) {
    // Where the connection broke there is nothing to roll back, and why it did is what counts.
    await say('ROLLBACK').catch(() => undefined);
    throw error;
  } finally {
    // Gives the connection back, and does no more.
    await transaction.commit();
  }
}

/** Statements on one connection, or each on any. */
export function statementsOf(driver: Pick<Driver, 'queryRaw' | 'executeRaw'>): Statements {
  return {
    $executeRaw: (...statement) => driver.executeRaw(queryOf(...statement)),
    $queryRaw: async <T>(...statement: Parameters<Statement<T>>) => {
      const found = await driver.queryRaw(queryOf(...statement));
      const readers = found.columnTypes.map((type, i) => readerOf(type, found.columnNames[i]));
      return found.rows.map((row) => {
        const read: Record<string, unknown> = {};
        for (const [i, name] of found.columnNames.entries())
          read[name] = row[i] === null ? null : readers[i]?.(row[i]);
        return read;
      }) as T;
    },
  };
}

const queryOf: (...statement: Parameters<Statement<unknown>>) => Query = (statement, ...values) => {
  const { text, values: args } = 'raw' in statement ? Prisma.sql(statement, ...values) : statement;
  return {
    sql: text,
    args: [...args],
    // Each parameter has its type in the statement.
    argTypes: args.map((arg) => ({
      scalarType: 'unknown',
      arity: Array.isArray(arg) ? 'list' : 'scalar',
    })),
  };
};

/** Of @prisma/driver-adapter-utils: those that its driver hands over as they are meant. */
const AS_THEY_ARE = new Set([0, 2, 3, 5, 6, 7, 12, 15, 64, 69, 70, 71, 78]);

/** The others: int8, date, timestamp and timestamptz, json and jsonb. */
const READERS: Record<number, (value: never) => unknown> = {
  1: (value: string) => BigInt(value),
  8: (value: string) => new Date(value),
  10: (value: string) => new Date(value),
  11: (value: string) => JSON.parse(value) as unknown,
};

function readerOf(type: number, name: string | undefined): (value: unknown) => unknown {
  if (AS_THEY_ARE.has(type)) return (value) => value;
  const reader = READERS[type] as ((value: unknown) => unknown) | undefined;
  if (reader === undefined)
    throw new TypeError(`column ${name ?? ''} is of a type (${type}) that is not read here`);
  return reader;
}

/** How a column of `recordset` is read. */
type ColumnType = 'text' | 'uuid' | 'uuid[]' | 'bigint' | 'date' | 'jsonb';

/**
 * What makes rows of a statement's FROM, as `new` with these columns: an array for each, of ids or of texts. Where a
 * statement has hundreds of rows, that costs Postgres half of what one JSON text of them does, and the client no more
 * (docs/performance.md). What is undefined is null.
 */
export function recordset<Name extends string>(
  columns: Readonly<Record<Name, ColumnType>>,
): (rows: readonly Readonly<Record<Name, unknown>>[]) => Prisma.Sql {
  const entries = Object.entries(columns) as [Name, ColumnType][];
  const read = entries.map(([name, type]) => `"${name}"::${type} AS "${name}"`).join(', ');
  const names = entries.map(([name]) => `"${name}"`).join(', ');
  const arrays = entries.map(([, type]) => `::${type === 'uuid' ? 'uuid' : 'text'}[]`);
  const texts = [
    `(SELECT ${read} FROM unnest(`,
    ...arrays.slice(0, -1).map((cast) => `${cast}, `),
    `${arrays.at(-1) ?? ''}) AS new (${names})) AS new`,
  ];
  return (rows) =>
    new Prisma.Sql(
      texts,
      entries.map(([name, type]) =>
        type === 'uuid'
          ? uuidArray(rows.map((row) => row[name] as string | null | undefined))
          : textArray(rows.map((row) => textOf(row[name], type))),
      ),
    );
}

function textOf(value: unknown, type: ColumnType): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value === 'string' && type !== 'jsonb') return value;
  if (Array.isArray(value) && type === 'uuid[]') return `{${value.join(',')}}`;
  return JSON.stringify(value);
}

const TEXT_OID = 25;
const UUID_OID = 2950;
const HEAD_BYTES = 20;

/** A `text[]` in Postgres's binary form (`array_recv`), in which no text is escaped. */
export function textArray(values: readonly (string | null)[]): Buffer {
  let size = HEAD_BYTES;
  for (const value of values) size += 4 + (value === null ? 0 : Buffer.byteLength(value));
  const array = Buffer.allocUnsafe(size);
  let at = writeHead(array, TEXT_OID, values.length);
  for (const value of values) {
    const length = value === null ? -1 : array.write(value, at + 4);
    at = array.writeInt32BE(length, at) + Math.max(length, 0);
  }
  return array;
}

/** A `uuid[]` in that form: half of its text. Throws a StoreError if one is no UUID, as Postgres would. */
export function uuidArray(values: readonly (string | null | undefined)[]): Buffer {
  const array = Buffer.allocUnsafe(HEAD_BYTES + values.length * 20);
  let at = writeHead(array, UUID_OID, values.length);
  for (const value of values)
    at =
      value === null || value === undefined
        ? array.writeInt32BE(-1, at)
        : writeUuid(array, value, at);
  return array.subarray(0, at);
}

/** Of the one dimension: whether there may be nulls, type, length and first index. */
function writeHead(array: Buffer, oid: number, length: number): number {
  let at = 0;
  for (const word of [1, 1, oid, length, 1]) at = array.writeInt32BE(word, at);
  return at;
}

const INVALID = 0xff;
const HEX = new Uint8Array(128).fill(INVALID);
for (let digit = 0; digit < 16; digit++)
  for (const text of [digit.toString(16), digit.toString(16).toUpperCase()])
    HEX[text.charCodeAt(0)] = digit;

function writeUuid(array: Buffer, text: string, from: number): number {
  let at = array.writeInt32BE(16, from);
  let seen = text.length === 36 ? 0 : INVALID;
  for (let digit = 0; digit < 35; digit += 2) {
    if (digit === 8 || digit === 13 || digit === 18 || digit === 23) {
      if (text[digit] !== '-') seen = INVALID;
      digit += 1;
    }
    const high = HEX[text.charCodeAt(digit)] ?? INVALID;
    const low = HEX[text.charCodeAt(digit + 1)] ?? INVALID;
    seen |= high | low;
    array[at++] = (high << 4) | low;
  }
  // invalid_text_representation
  if (seen >= 16) throw new StoreError('data', '22P02');
  return at;
}

/** Something was committed between reading and locking: the same again will see it. */
export class RetryTransaction extends Error {
  override readonly name = 'RetryTransaction';
}

const ATTEMPTS = 10;

/**
 * Runs a transaction in which each statement sees what others committed before it (READ COMMITTED, as
 * connections are opened with), and runs it
 * again from its beginning on RetryTransaction, on a deadlock and on a serialisation failure.
 * Rejects with a StoreError if Postgres failed.
 */
export async function transact<T>(store: Store, run: (tx: Statements) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await store.transaction(run);
    } catch (error) {
      const isStale = error instanceof RetryTransaction;
      if (!isStale && failureOf(error) !== 'conflict') throw withoutValues(error);
      if (attempt === ATTEMPTS) throw new StoreError('conflict', 'retried too often');
      // Two that ran into each other must not start again in step.
      if (!isStale) await sleep(Math.random() * 20 * attempt);
    }
  }
}

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

/** Before every id. */
export const NIL_UUID = '00000000-0000-0000-0000-000000000000';

/**
 * What is read in the order of a key, page by page, until a page is not full. `read` gives the next rows after one;
 * null: the first.
 */
export async function* pagesOf<Row>(
  pageSize: number,
  read: (after: Row | null) => Promise<Row[]>,
): AsyncGenerator<Row[]> {
  for (let after: Row | null = null; ;) {
    const page: Row[] = await read(after);
    const last = page.at(-1);
    if (last === undefined) return;
    yield page;
    if (page.length < pageSize) return;
    after = last;
  }
}

/** Rows a statement: deleting should not hold the table or the log of Postgres for long. */
const DELETED_AT_ONCE = 5_000;

/** Deletes up to a limit at a time until a time found fewer. Returns how many went. */
export async function deleteInBatches(
  deleteSome: (limit: number) => Promise<number>,
): Promise<number> {
  let all = 0;
  for (;;) {
    const deleted = await deleteSome(DELETED_AT_ONCE);
    all += deleted;
    if (deleted < DELETED_AT_ONCE) return all;
  }
}
