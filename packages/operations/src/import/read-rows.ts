import { pipeline, Readable } from 'node:stream';
import { CsvError, parse } from 'csv-parse';
import { splitArray, splitLines } from './split-json.ts';
import { UnreadableInput } from './open-text.ts';

export type RowFormat = 'csv' | 'ndjson' | 'json';

/** One row of a file. */
export interface Row {
  /** From 1: of the line in NDJSON, of the element in an array, of the record under a CSV's head. */
  number: number;
  /** Values by column; null where it is no row of the file's form. */
  values: Readonly<Record<string, unknown>> | null;
  /** As it stands in the file: the cells of a CSV, else the text. */
  raw: readonly string[] | string;
}

export interface Rows {
  format: RowFormat;
  /** Names of a CSV's columns; null where each row names its own. */
  columns: readonly string[] | null;
  delimiter: string | null;
  rows: AsyncGenerator<Row>;
}

/** Characters of a CSV record: a quote that is never closed would swallow the rest of the file. */
const LONGEST_RECORD = 128 * 1024;

/**
 * The rows of a text, whose form is told by how it begins: `[` is a JSON array, `{` is JSON line by
 * line, anything else is CSV with a head. Reads no further than its rows are taken. Throws an
 * UnreadableInput where the text has no rows to speak of.
 */
export async function readRows(
  chunks: AsyncGenerator<string>,
  { format, delimiter }: { format?: RowFormat; delimiter?: string } = {},
): Promise<Rows> {
  const { begin, rest } = await peek(chunks);
  const start = begin.trimStart();
  if (start === '') throw new UnreadableInput('It is empty.');
  const found =
    format ?? (start.startsWith('[') ? 'json' : start.startsWith('{') ? 'ndjson' : 'csv');
  if (found === 'csv') return readCsv(rest, begin, delimiter);
  const rows = found === 'json' ? arrayRows(rest) : lineRows(rest);
  return { format: found, columns: null, delimiter: null, rows };
}

/** The beginning of a text, its first line whole where that is not too long, and all of it again. */
async function peek(
  chunks: AsyncGenerator<string>,
): Promise<{ begin: string; rest: AsyncGenerator<string> }> {
  let begin = '';
  while (begin.length < LONGEST_RECORD && !/\S[^\n]*\n/.test(begin)) {
    const next = await chunks.next();
    if (next.done === true) break;
    begin += next.value;
  }
  async function* all(): AsyncGenerator<string> {
    yield begin;
    yield* chunks;
  }
  return { begin, rest: all() };
}

async function* arrayRows(chunks: AsyncIterable<string>): AsyncGenerator<Row> {
  let number = 0;
  for await (const text of splitArray(chunks)) yield jsonRow((number += 1), text);
}

async function* lineRows(chunks: AsyncIterable<string>): AsyncGenerator<Row> {
  for await (const { number, text } of splitLines(chunks)) yield jsonRow(number, text);
}

function jsonRow(number: number, text: string): Row {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return { number, values: isObject ? (value as Record<string, unknown>) : null, raw: text };
  } catch {
    return { number, values: null, raw: text };
  }
}

async function readCsv(
  chunks: AsyncIterable<string>,
  begin: string,
  given: string | undefined,
): Promise<Rows> {
  const delimiter = given ?? delimiterOf(begin);
  const parser = parse({
    delimiter,
    bom: true,
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    max_record_size: LONGEST_RECORD,
  });
  // What reading the text fails with comes out where records are asked for.
  pipeline(Readable.from(chunks, { objectMode: false }), parser, () => {});
  const records = parser[Symbol.asyncIterator]() as AsyncIterator<string[]>;
  const head = await nextRecord(records, 0);
  if (head === null) throw new UnreadableInput('It is empty.');
  const columns = head.map((name) => name.trim());
  return { format: 'csv', columns, delimiter, rows: csvRows(records, columns) };
}

async function* csvRows(
  records: AsyncIterator<string[]>,
  columns: readonly string[],
): AsyncGenerator<Row> {
  for (let number = 1; ; number += 1) {
    const cells = await nextRecord(records, number);
    if (cells === null) return;
    // Cells that are missing at the end are blank; ones too many would be under a wrong column.
    const fits =
      cells.length <= columns.length || cells.slice(columns.length).every((c) => c === '');
    const values = fits
      ? Object.fromEntries(columns.map((name, i) => [name, cells[i] ?? '']))
      : null;
    yield { number, values, raw: cells };
  }
}

async function nextRecord(
  records: AsyncIterator<string[]>,
  number: number,
): Promise<string[] | null> {
  try {
    const next = await records.next();
    return next.done === true ? null : next.value;
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    const why =
      error.code === 'CSV_QUOTE_NOT_CLOSED' || error.code === 'CSV_MAX_RECORD_SIZE'
        ? 'a quote is opened and never closed'
        : `it is not CSV (${error.code})`;
    throw new UnreadableInput(`After row ${Math.max(0, number - 1)} ${why}.`);
  }
}

/** The character that stands most often in the head, outside of quotes. */
function delimiterOf(begin: string): string {
  const [head = ''] = begin.trimStart().split(/\r?\n/, 1);
  const bare = head.replace(/"[^"]*"/g, '');
  const counts = [',', ';', '\t', '|'].map((one) => ({ one, n: bare.split(one).length }));
  return counts.reduce((best, next) => (next.n > best.n ? next : best)).one;
}
