import { readCsv } from './csv.ts';
import { UnreadableInput } from './open-text.ts';

export type RowFormat = 'csv' | 'ndjson' | 'json';

/** One row of a file. */
export interface Row {
  /** From 1: of the line in NDJSON, of the element in an array, of the record under a CSV's head. */
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
  /** Names of a CSV's columns; null where each row names its own. */
  columns: readonly string[] | null;
  delimiter: string | null;
  /** A CSV that was exported here. */
  isExport: boolean;
  rows: AsyncGenerator<Row>;
}

/** Characters of one JSON value: a posted body may have as many. */
const LONGEST = 64 * 1024;

/**
 * The rows of a text, whose form is told by how it begins: `[` is a JSON array, `{` is JSON line by
 * line, anything else is CSV with a head. Reads little further than its rows are taken. Throws an
 * UnreadableInput where the text has no rows to speak of.
 */
export async function readRows(
  chunks: AsyncGenerator<string>,
  { format, delimiter }: { format?: RowFormat; delimiter?: string } = {},
): Promise<Rows> {
  const { first, all } = await peek(chunks);
  if (first === null) throw new UnreadableInput('It is empty.');
  const found = format ?? (first === '[' ? 'json' : first === '{' ? 'ndjson' : 'csv');
  if (found !== 'csv') {
    const rows = found === 'json' ? arrayRows(all) : lineRows(all);
    return { format: found, columns: null, delimiter: null, isExport: false, rows };
  }
  const { records, ...csv } = await readCsv(all, delimiter);
  async function* rows(): AsyncGenerator<Row> {
    let number = 0;
    for await (const { cells, fault } of records) {
      const values = csv.columns.map((name, at) => [name, cells[at] ?? ''] as const);
      yield { number: (number += 1), values: fault === null ? values : null, raw: cells, fault };
    }
  }
  return { format: found, ...csv, rows: rows() };
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
  const fault = values === null ? 'It is not a JSON object of up to 64 KiB.' : null;
  return { number, values, raw: text, fault };
}

function jsonObject(text: string): [string, unknown][] | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null;
    return Object.entries(value);
  } catch {
    return null;
  }
}

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
