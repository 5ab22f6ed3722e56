import Table from 'cli-table3';
import { showable } from './showable.ts';

const NO_LINES = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: '  ',
};

/** A cell: null and '' are shown as `-`, so that columns can be counted. */
export type Cell = string | number | null;

/** Rows under a heading, in columns, without lines; each row on one line. Ends with a line break. */
export function table(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const grid = new Table({
    head: head.map((title) => title.toUpperCase()),
    chars: NO_LINES,
    style: { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 },
  });
  for (const row of rows) grid.push(row.map(cellText));
  return `${trimLines(grid.toString())}\n`;
}

/** Names and values in two columns. Ends with a line break. */
export function pairs(rows: readonly (readonly [name: string, value: Cell])[]): string {
  const width = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(width)}  ${cellText(value)}\n`).join('');
}

function cellText(cell: Cell): string {
  return cell === null || cell === '' ? '-' : showable(String(cell));
}

function trimLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n');
}

/** A number with its noun: `1 code`, `2,000 identities`. */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en')} ${n === 1 ? one : many}`;
}

/** A time in UTC, to the second: `2026-11-27 23:05:10Z`. */
export function shortTime(time: Date | string): string {
  return new Date(time).toISOString().replace('T', ' ').replace(/\.\d+/, '');
}

/** A text of which only the first character and the shape are left: `a••@e••••••.c••`. */
export function maskText(text: string): string {
  return text.replace(/[\p{L}\p{N}]+/gu, (word) => {
    const [first = '', ...rest] = word;
    return rest.length === 0 ? '•' : `${first}${'•'.repeat(Math.min(rest.length, 8))}`;
  });
}
