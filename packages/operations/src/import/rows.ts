import { exactJson } from '@leadgate/leads';
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { csvRecord, MOST_COLUMNS, readCsv, readHead, REASON_COLUMN } from './csv.ts';
import type { ImportStart, RefusedRow } from './import-rows.ts';
import { type Input, keepBytes, keepText, UnreadableInput } from './open-input.ts';
import { openWorkbook, type SheetRow, type Workbook } from './xlsx.ts';

/** The form of rows as text. Rows of a sheet are told of, and written, as those of a CSV. */
export type RowFormat = 'csv' | 'ndjson' | 'json';

export interface Row {
  /**
   * From 1: of the line in NDJSON, of the element in an array, of the record under a CSV's head, of the
   * row in a sheet.
   */
  number: number;
  /** Columns and their values, in the order of the file; null if it is no row of its form. */
  values: readonly (readonly [column: string, value: unknown])[] | null;
  /** As it stands in the file: the cells of a CSV, else the text. */
  raw: readonly string[] | string;
  /** Why it is no row, with its place. */
  fault: string | null;
}

export interface Rows {
  format: RowFormat;
  /** Names of the columns of a CSV or a sheet; null if each row names its own. */
  columns: readonly string[] | null;
  delimiter: string | null;
  /** Which sheet of a workbook it is, and which there are to be seen. */
  sheet: { name: string; all: readonly string[] } | null;
  /** Of a file that was exported here. */
  isExport: boolean;
  rows: AsyncGenerator<Row>;
}

/** Characters of one JSON value: a posted body may have as many. */
const LONGEST = 64 * 1024;
/** Far deeper than any value of a lead; 64 KiB reach the end of a stack. */
const DEEPEST = 64;
/** Stands for a value that is deeper: no field takes it, and an unknown key is ignored whatever it has. */
const TOO_DEEP = [[]];

export interface RowSource {
  rows: Rows;
  /** Of a text, as found until now; null of a sheet. */
  encoding: () => string | null;
  /** Whether its rows are to be read again; asked before the first of them is read. */
  keep: (isNeeded: boolean) => Promise<void>;
  again: () => Promise<Rows>;
  close: () => Promise<void>;
}

interface RowOptions {
  format?: RowFormat;
  delimiter?: string;
  /** The name of a sheet; else it is the first that is not hidden. */
  sheet?: string;
}

/** The rows of a file, which can be read twice. Throws an UnreadableInput if it has none to speak of. */
export async function openRows(input: Input, options: RowOptions = {}): Promise<RowSource> {
  if (input.kind === 'zip') {
    const file = await keepBytes(input.bytes);
    const close = () => file.close();
    try {
      const workbook = await openWorkbook(file, options.sheet);
      const again = () => sheetRows(workbook);
      const keep = () => Promise.resolve();
      return { rows: await again(), encoding: () => null, keep, again, close };
    } catch (error) {
      await close();
      throw error;
    }
  }
  const kept = keepText(input.chunks);
  const again = () => readRows(kept.again(), options);
  const rows = await readRows(kept.first, options);
  return { rows, encoding: input.encoding, keep: kept.keep, again, close: kept.close };
}

/**
 * The rows of a sheet below its first, which is the head. One that has something beyond the head's
 * columns is at fault, as it is in a CSV.
 */
async function sheetRows(workbook: Workbook): Promise<Rows> {
  const all = workbook.rows();
  const first = await all.next();
  if (first.done === true) throw new UnreadableInput(`Its sheet "${workbook.sheet}" is empty.`);
  const head = Array.from(first.value.cells, (cell = '') => String(cell));
  const { plain, ...told } = readHead(head);
  async function* rows(): AsyncGenerator<Row> {
    for await (const row of all) yield sheetRow(row, told.columns, plain);
  }
  const sheet = { name: workbook.sheet, all: workbook.visible };
  return { format: 'csv', delimiter: null, sheet, ...told, rows: rows() };
}

function sheetRow(
  { number, cells }: SheetRow,
  columns: readonly string[],
  plain: (cell: string) => string,
): Row {
  const values = columns.map((name, at) => {
    const cell = cells[at] ?? '';
    return [name, typeof cell === 'string' ? plain(cell) : cell] as const;
  });
  const raw = values.map(([, value]) => String(value));
  if (cells.length <= columns.length) return { number, values, raw, fault: null };
  // Far to the right is mostly nothing.
  const beyond = Object.entries(cells).flatMap(([at, cell]) =>
    Number(at) >= columns.length ? [String(cell)] : [],
  );
  const fault = `Row ${number}: it has cells to the right of the head's ${columns.length}.`;
  return { number, values: null, raw: [...raw, ...beyond], fault };
}

/**
 * The rows of a text, whose form is told by how it begins: `[` is a JSON array, `{` is JSON line by
 * line, anything else is CSV with a head. Reads little further than its rows are taken.
 */
async function readRows(
  chunks: AsyncGenerator<string>,
  { format, delimiter }: RowOptions,
): Promise<Rows> {
  const { first, all } = await peek(chunks);
  if (first === null) throw new UnreadableInput('It is empty.');
  const found = format ?? (first === '[' ? 'json' : first === '{' ? 'ndjson' : 'csv');
  const plain = { format: found, columns: null, delimiter: null, sheet: null, isExport: false };
  if (found === 'json') return { ...plain, rows: arrayRows(all) };
  if (found === 'ndjson') return { ...plain, rows: lineRows(all) };
  const { records, ...csv } = await readCsv(all, delimiter);
  async function* rows(): AsyncGenerator<Row> {
    let number = 0;
    for await (const { cells, fault } of records) {
      const values = csv.columns.map((name, at) => [name, cells[at] ?? ''] as const);
      yield { number: (number += 1), values: fault === null ? values : null, raw: cells, fault };
    }
  }
  return { ...plain, ...csv, rows: rows() };
}

/** The first character of a text that is not blank, and the text, blank pieces before that aside. */
async function peek(
  chunks: AsyncGenerator<string>,
): Promise<{ first: string | null; all: AsyncGenerator<string> }> {
  let begin = '';
  let first = '';
  while (first === '') {
    const next = await chunks.next();
    if (next.done === true) break;
    begin = next.value;
    first = begin.trimStart().charAt(0);
  }
  async function* all(): AsyncGenerator<string> {
    yield begin;
    yield* chunks;
  }
  return { first: first === '' ? null : first, all: all() };
}

async function* arrayRows(chunks: AsyncIterable<string>): AsyncGenerator<Row> {
  let number = 0;
  for await (const text of splitArray(chunks)) yield jsonRow((number += 1), text);
}

async function* lineRows(chunks: AsyncIterable<string>): AsyncGenerator<Row> {
  for await (const { number, text } of splitLines(chunks)) yield jsonRow(number, text);
}

function jsonRow(number: number, text: string): Row {
  const values = text.length > LONGEST ? null : jsonObject(text);
  if (values === null)
    return { number, values, raw: text, fault: 'It is not a JSON object of up to 64 KiB.' };
  if (values.length <= MOST_COLUMNS) return { number, values, raw: text, fault: null };
  const fault = `It has ${values.length} keys, and ${MOST_COLUMNS} are read at most.`;
  return { number, values: null, raw: text, fault };
}

function jsonObject(text: string): [string, unknown][] | null {
  try {
    const value: unknown = exactJson(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return Object.entries(value).map(([key, inner]) => [
      key,
      isDeeper(inner, DEEPEST) ? TOO_DEEP : (inner as unknown),
    ]);
  } catch {
    return null;
  }
}

const isDeeper = (value: unknown, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1)));

/**
 * The elements of a JSON array, each as its text, as the array comes in. Only where an element ends
 * is looked for (strings, brackets); whether it is JSON its parser says. Text after the array is
 * ignored. An element that is too long comes cut, and cannot be parsed then.
 */
async function* splitArray(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let element = '';
  let depth = 0;
  let inString = false;
  let escaped = false;
  let opened = false;
  for await (const chunk of chunks) {
    let start = 0;
    const take = (end: number): void => {
      const room = LONGEST + 1 - element.length;
      if (room > 0) element += chunk.slice(start, Math.min(end, start + room));
      start = end;
    };
    for (let i = 0; i < chunk.length; i += 1) {
      const character = chunk[i];
      if (!opened) {
        opened = character === '[';
        start = i + 1;
      } else if (escaped) escaped = false;
      else if (inString) {
        if (character === '\\') escaped = true;
        else if (character === '"') inString = false;
      } else if (character === '"') inString = true;
      else if (character === '{' || character === '[') depth += 1;
      else if (character === '}' || character === ']') {
        if (depth === 0) {
          take(i);
          if (element.trim() !== '') yield element.trim();
          return;
        }
        depth -= 1;
      } else if (character === ',' && depth === 0) {
        take(i);
        yield element.trim();
        element = '';
        start = i + 1;
      }
    }
    take(chunk.length);
  }
  if (element.trim() !== '') yield element.trim();
}

/** The lines of a text that are not blank, with their numbers from 1. One that is too long comes cut. */
async function* splitLines(
  chunks: AsyncIterable<string>,
): AsyncGenerator<{ number: number; text: string }> {
  let rest = '';
  let number = 0;
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split('\n');
    rest = (lines.pop() ?? '').slice(0, LONGEST + 1);
    for (const line of lines) {
      number += 1;
      if (line.trim() !== '') yield { number, text: line.trim().slice(0, LONGEST + 1) };
    }
  }
  if (rest.trim() !== '') yield { number: number + 1, text: rest.trim() };
}

export interface ErrorReport {
  add: (row: RefusedRow) => Promise<void>;
  close: () => Promise<void>;
}

/**
 * Writes the rows that were not taken as a file of the same form, each with its reason in a column
 * more, to be mended and imported again: that column is ignored then. What could not be read as a row
 * has a cell too many until it is mended.
 */
export function createErrorReport(
  to: Writable,
  { format, columns, delimiter }: ImportStart,
): ErrorReport {
  const write = async (text: string): Promise<void> => {
    if (!to.write(text)) await once(to, 'drain');
  };
  const csv = (cells: readonly string[]): string => csvRecord(cells, delimiter ?? ',');
  let count = 0;
  return {
    async add(row) {
      const reason = reasonOf(row);
      count += 1;
      if (format === 'csv') {
        const names = columns?.map(({ name }) => name) ?? [];
        const at = names.indexOf(REASON_COLUMN);
        const head = at === -1 ? [...names, REASON_COLUMN] : names;
        if (count === 1) await write(`\ufeff${csv(head)}`);
        const raw = typeof row.raw === 'string' ? [row.raw] : row.raw;
        const cells = Array.from({ length: names.length }, (_, i) => raw[i] ?? '');
        if (at === -1) cells.push(reason);
        else cells[at] = reason;
        // One that is no row must not become one by being written: it stays of another length.
        cells.push(...raw.slice(names.length));
        if (row.values === null && cells.length === head.length) cells.push('');
        return write(csv(cells));
      }
      const values = row.values ?? [['leadgate_row', String(row.raw)]];
      const text = JSON.stringify(Object.fromEntries([...values, [REASON_COLUMN, reason]]));
      if (format === 'ndjson') return write(`${text}\n`);
      return write(`${count === 1 ? '[\n' : ',\n'}${text}`);
    },
    async close() {
      if (format === 'json' && count > 0) await write('\n]\n');
      to.end();
      await once(to, 'close');
    },
  };
}

/** Fields and codes with what is wrong with them; no values. */
function reasonOf({ number, errors }: RefusedRow): string {
  const reasons = errors.map(({ pointer, code, detail }) =>
    [pointer, code].filter(Boolean).join(' ').concat(`: ${detail}`),
  );
  return `row ${number}: ${reasons.join('; ')}`;
}
