import { UnreadableInput } from './open-input.ts';

/** Columns that only files of our own have: an export, and the rows that an import refused. */
const EXPORT_HEAD = ['leadId', 'workspace'];
export const REASON_COLUMN = 'leadgate_reason';

/** Characters of a record: a quote that is never closed would swallow the rest of the file. */
const LONGEST_RECORD = 128 * 1024;

/** Columns of a row; a lead has about two hundred fields at most. Each is work for every row. */
export const MOST_COLUMNS = 2_000;

/** Characters that are waited for before a record that may not be whole is looked at again. */
const PIECE = 32 * 1024;

const DELIMITERS = [',', ';', '\t', '|'];

// Neutral cells: what a spreadsheet would take for a formula.

/** Where a cell may begin for a reader that takes another delimiter, or no quotes for quotes. */
const BEGINS = new Set([...DELIMITERS, '\n', '\r', '\v', '\f', '\u0085', '\u2028', '\u2029']);
/** The full-width signs too, which some spreadsheets take for the plain ones. */
const FORMULA_SIGNS = new Set([...'=+-@＝＋－＠']);
/** What such a reader drops before it looks for a sign, and the apostrophe itself. */
const DROPPED = /[\s"']/;

/**
 * For each place of a text whether a sign follows, at once or after what is dropped. From the end,
 * so that it takes one look at each character.
 */
function signsIn(text: string): boolean[] {
  const found = new Array<boolean>(text.length);
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const character = text.charAt(at);
    found[at] = FORMULA_SIGNS.has(character) || (found[at + 1] === true && DROPPED.test(character));
  }
  return found;
}

const begins = (text: string, at: number): boolean => at === 0 || BEGINS.has(text.charAt(at - 1));

/**
 * A cell with an apostrophe wherever a spreadsheet could see the beginning of a formula (OWASP, CSV
 * injection): at its start, and after every line break and delimiter in it. `fromNeutral` takes
 * exactly these away again.
 */
export function toNeutral(cell: string): string {
  const signs = signsIn(cell);
  let neutral = '';
  for (let at = 0; at < cell.length; at += 1)
    neutral += signs[at] === true && begins(cell, at) ? `'${cell.charAt(at)}` : cell.charAt(at);
  return neutral;
}

/** The cell that `toNeutral` made this one of. */
export function fromNeutral(neutral: string): string {
  const signs = signsIn(neutral);
  let cell = '';
  for (let at = 0; at < neutral.length; at += 1) {
    const character = neutral.charAt(at);
    if (character !== "'" || signs[at] !== true || !begins(neutral, at)) cell += character;
  }
  return cell;
}

/** One record of a CSV of ours: every cell in quotes (RFC 4180) and neutral. */
export function csvRecord(cells: readonly string[], delimiter: string): string {
  return `${cells.map((cell) => `"${toNeutral(cell).replaceAll('"', '""')}"`).join(delimiter)}\r\n`;
}

// Reading.

export interface CsvRecord {
  /** Of its first line, from 1. */
  line: number;
  cells: string[];
  /** Why it is no row, with its place; null if it is one. */
  fault: string | null;
}

interface Csv {
  columns: string[];
  delimiter: string;
  /** An export of ours: its values are read as they were written. */
  isExport: boolean;
  records: AsyncGenerator<CsvRecord>;
}

/**
 * Reads a CSV with a head. What a strict reader (RFC 4180) can read is read as it does; quotes within
 * a cell that does not begin with one are characters. If a cell begins with a quote and does not
 * end with one, only its line is at fault, and reading goes on with the next. A record with more or
 * fewer cells than the head is at fault, and so is one whose quotes hold what looks like further rows.
 * Records of blank cells are passed over. Memory is bounded, and so is the work for a character.
 *
 * Throws an UnreadableInput if the head cannot be read.
 */
export async function readCsv(
  chunks: AsyncIterator<string>,
  given: string | undefined,
): Promise<Csv> {
  const text = new Text(chunks);
  await text.fill(LONGEST_RECORD);
  const said = text.skip(/^\ufeff?(?:sep=(.)\r?\n)?/i);
  const delimiter = given ?? said ?? delimiterOf(text.buffer);
  const cutter = new Cutter(text, delimiter);
  const head = await cutter.next();
  if (head === null) throw new UnreadableInput('It is empty.');
  if (head.fault !== null) throw new UnreadableInput(`Its head cannot be read. ${head.fault}`);
  const { plain, ...told } = readHead(head.cells);
  return { ...told, delimiter, records: records(cutter, told.columns, plain) };
}

/**
 * The names of columns, whether an export of ours has them, and how a cell below them is read. Throws an
 * UnreadableInput for more columns than a row of anything has.
 */
export function readHead(cells: readonly string[]): {
  columns: string[];
  isExport: boolean;
  plain: (cell: string) => string;
} {
  if (cells.length > MOST_COLUMNS)
    throw new UnreadableInput(
      `Its head has ${cells.length} columns, and ${MOST_COLUMNS} are read at most: leave those out that are no fields.`,
    );
  const isExport = EXPORT_HEAD.every((name, at) => cells[at]?.trim() === name);
  const isOurs = isExport || cells.includes(REASON_COLUMN);
  const plain = isOurs ? fromNeutral : withoutFormula;
  return { columns: cells.map((name) => plain(name).trim()), isExport, plain };
}

async function* records(
  cutter: Cutter,
  columns: readonly string[],
  plain: (cell: string) => string,
): AsyncGenerator<CsvRecord> {
  for (let next = await cutter.next(); next !== null; next = await cutter.next()) {
    if (next.fault === null && next.cells.every(isBlank)) continue;
    const fault = next.fault ?? faultOf(next, columns.length, cutter.delimiter);
    // A quote that was left open may end at a quote of a later row: these rows are none of its cell.
    const odd =
      next.fault === null && fault !== null
        ? cutter.withoutRows(next, { fault, columns: columns.length })
        : null;
    const { line, cells } = odd ?? next;
    yield { line, fault, cells: cells.map(plain) };
  }
}

function faultOf(record: Cut, columns: number, delimiter: string): string | null {
  const { line, cells } = record;
  if (cells.length !== columns)
    return `Line ${line}: it has ${cells.length} cells, and the head ${columns}.`;
  // If every cell is quoted, as programs write it, a quote cannot have been left open.
  const hasRows =
    !record.allQuoted && cells.some((cell, at) => holdsRows(cell, { at, columns, delimiter }));
  return !hasRows
    ? null
    : `Line ${line}: a cell in quotes holds what looks like further rows. If a quote was left open, close it or take it away; if not, put every cell of the row in quotes.`;
}

/**
 * Whether a line of a cell is as long as a row, or the first as what is left of its row, or the last as
 * what a row has before it, and has somebody's email or phone.
 */
function holdsRows(
  cell: string,
  { at, columns, delimiter }: { at: number; columns: number; delimiter: string },
): boolean {
  const lines = cell.split(/\r\n|\r|\n/);
  return (
    lines.length > 1 &&
    lines.some((line, i) => {
      const whole = i === 0 ? columns - at : i === lines.length - 1 ? at + 1 : columns;
      const cells = line.split(delimiter);
      return cells.length === whole && whole > 1 && cells.some(isContact);
    })
  );
}

function isContact(cell: string): boolean {
  const text = cell.trim().replaceAll('"', '');
  if (text.length > 254 || text.includes(' ')) return false;
  return /^[^@]+@[^@]+$/.test(text) || /^\+?[\d().-]{8,20}$/.test(text);
}

const isBlank = (cell: string): boolean => cell.trim() === '';

/** `="00123"`, as some write text that a spreadsheet must not take for a number. */
function withoutFormula(cell: string): string {
  const text = cell.trim();
  return text.length > 3 && text.startsWith('="') && text.endsWith('"')
    ? text.slice(2, -1).replaceAll('""', '"')
    : cell;
}

/** What of a text is in memory. */
class Text {
  buffer = '';
  ended = false;
  readonly #chunks: AsyncIterator<string>;

  constructor(chunks: AsyncIterator<string>) {
    this.#chunks = chunks;
  }

  /** Reads on until it holds as many characters, or the text has ended. */
  async fill(length: number): Promise<void> {
    const pieces = [this.buffer];
    let held = this.buffer.length;
    while (!this.ended && held < length) {
      const next = await this.#chunks.next();
      if (next.done === true) this.ended = true;
      else {
        pieces.push(next.value);
        held += next.value.length;
      }
    }
    this.buffer = pieces.join('');
  }

  /** Drops what an expression finds at the beginning; returns its first group. */
  skip(beginning: RegExp): string | undefined {
    const found = beginning.exec(this.buffer.slice(0, 16));
    this.buffer = this.buffer.slice(found?.[0].length ?? 0);
    return found?.[1];
  }
}

interface Cut {
  line: number;
  /** Its place in what is in memory. */
  start: number;
  cells: string[];
  fault: string | null;
  /** Every cell was in quotes. */
  allQuoted: boolean;
}

/** Cuts a text into records. */
class Cutter {
  readonly delimiter: string;
  readonly #text: Text;
  #at = 0;
  #line = 1;
  /** The place after the next quote that closes, of a look from an earlier place on. */
  #closing = -1;

  constructor(text: Text, delimiter: string) {
    this.#text = text;
    this.delimiter = delimiter;
  }

  /** The next record that is not an empty line; null at the end. */
  async next(): Promise<Cut | null> {
    for (;;) {
      if (!this.#text.ended && this.#text.buffer.length - this.#at < LONGEST_RECORD + 2) {
        const found = this.#closing <= this.#text.buffer.length;
        this.#closing = found ? this.#closing - this.#at : -1;
        this.#text.buffer = this.#text.buffer.slice(this.#at);
        this.#at = 0;
        await this.#text.fill(LONGEST_RECORD + 2 + PIECE);
      }
      if (this.#at >= this.#text.buffer.length) return null;
      if (this.#isBreak(this.#at)) {
        this.#goTo(this.#afterBreak(this.#at));
        continue;
      }
      const cut = this.#cut();
      if (cut.cells.length > 1 || cut.fault !== null || !isBlank(cut.cells[0] ?? '')) return cut;
    }
  }

  /**
   * The record that was cut last, with nothing but its first line, if each of its other lines has as many
   * cells as a row; reading goes on with these. Null if one has not.
   */
  withoutRows(
    { line, start }: Cut,
    { fault, columns }: { fault: string; columns: number },
  ): Cut | null {
    const lines = this.#text.buffer
      .slice(start, this.#at)
      .trimEnd()
      .split(/\r\n|\r|\n/);
    const areRows = lines.slice(1).every((one) => one.split(this.delimiter).length === columns);
    if (lines.length === 1 || !areRows) return null;
    this.#at = start;
    this.#line = line;
    return this.#odd(start, fault);
  }

  /** The record that begins here, all of which is in memory unless it is too long. */
  #cut(): Cut {
    const { buffer } = this.#text;
    const start = this.#at;
    const line = this.#line;
    const cells: string[] = [];
    let allQuoted = true;
    for (let at = start; ;) {
      const quote = this.#quoteAt(at);
      const end = quote === null ? this.#endOfBare(at) : this.#endOfQuoted(quote);
      if (end === null)
        return this.#odd(
          start,
          `Line ${line}, column ${cells.length + 1}: a quote is opened and not closed before the next cell.`,
        );
      if (end.next - start > LONGEST_RECORD)
        return this.#odd(start, `Line ${line}: it is longer than ${LONGEST_RECORD} characters.`);
      cells.push(end.cell);
      allQuoted &&= quote !== null;
      at = end.next;
      if (buffer.charAt(at) !== this.delimiter) {
        this.#goTo(this.#afterBreak(at));
        return { line, start, cells, fault: null, allQuoted };
      }
      at += 1;
    }
  }

  /** A line that begins a record and cannot be read: it alone is passed over. */
  #odd(start: number, fault: string): Cut {
    const line = this.#line;
    const end = Math.min(this.#endOfLine(start), start + LONGEST_RECORD);
    const text = this.#text.buffer.slice(start, end);
    this.#goTo(this.#afterBreak(end));
    return { line, start, cells: [text], fault, allQuoted: false };
  }

  /** The place of the quote that a cell begins with, spaces before it aside. */
  #quoteAt(at: number): number | null {
    const { buffer } = this.#text;
    let first = at;
    while (this.#isSpace(first)) first += 1;
    return buffer.charAt(first) === '"' ? first : null;
  }

  #endOfBare(at: number): { cell: string; next: number } {
    const { buffer } = this.#text;
    let end = at;
    while (end < buffer.length && buffer.charAt(end) !== this.delimiter && !this.#isBreak(end))
      end += 1;
    return { cell: buffer.slice(at, end), next: end };
  }

  /** Null if the quote is not closed, or something stands between its end and the next cell. */
  #endOfQuoted(quote: number): { cell: string; next: number } | null {
    const { buffer } = this.#text;
    const closing = this.#closingOf(quote);
    if (closing === null) return null;
    let next = closing;
    while (this.#isSpace(next)) next += 1;
    const isEnd =
      next >= buffer.length || buffer.charAt(next) === this.delimiter || this.#isBreak(next);
    if (!isEnd) return null;
    return { cell: buffer.slice(quote + 1, closing - 1).replaceAll('""', '"'), next };
  }

  /**
   * The place after the quote that closes this one: the last of the next odd number of quotes in a
   * row. What was found is kept, as a file with many quotes left open would be looked through again
   * and again otherwise.
   */
  #closingOf(quote: number): number | null {
    const { buffer } = this.#text;
    let run = quote;
    while (buffer.charAt(run) === '"') run += 1;
    if ((run - quote) % 2 === 0) return run;
    if (this.#closing <= run) this.#closing = this.#nextClosing(run);
    const closing = this.#closing;
    return closing > buffer.length || closing - quote > LONGEST_RECORD ? null : closing;
  }

  #nextClosing(from: number): number {
    const { buffer } = this.#text;
    for (let at = buffer.indexOf('"', from); at !== -1; at = buffer.indexOf('"', at)) {
      const run = at;
      while (buffer.charAt(at) === '"') at += 1;
      if ((at - run) % 2 === 1) return at;
    }
    return buffer.length + 1;
  }

  /** What may stand between a quote and the delimiter. */
  #isSpace(at: number): boolean {
    const character = this.#text.buffer.charAt(at);
    return character !== this.delimiter && /[ \t\u00a0]/.test(character);
  }

  #isBreak(at: number): boolean {
    const character = this.#text.buffer.charAt(at);
    return character === '\n' || character === '\r';
  }

  #endOfLine(from: number): number {
    const { buffer } = this.#text;
    let end = from;
    while (end < buffer.length && !this.#isBreak(end)) end += 1;
    return end;
  }

  #afterBreak(at: number): number {
    const { buffer } = this.#text;
    if (buffer.charAt(at) === '\r' && buffer.charAt(at + 1) === '\n') return at + 2;
    return this.#isBreak(at) ? at + 1 : at;
  }

  #goTo(next: number): void {
    const { buffer } = this.#text;
    for (let at = this.#at; at < next; at += 1)
      if (
        buffer.charAt(at) === '\n' ||
        (buffer.charAt(at) === '\r' && buffer.charAt(at + 1) !== '\n')
      )
        this.#line += 1;
    this.#at = next;
  }
}

/**
 * The delimiter that stands most often in the head, outside of quotes; first of those that the row below
 * has as often.
 */
function delimiterOf(begin: string): string {
  const lines = [new Map<string, number>()];
  let inQuotes = false;
  let seen = false;
  for (const character of begin.slice(0, LONGEST_RECORD)) {
    const counts = lines.at(-1);
    if (character === '"') inQuotes = !inQuotes;
    else if (!inQuotes && (character === '\n' || character === '\r')) {
      if (seen && lines.push(new Map<string, number>()) > 2) break;
      seen = false;
    } else if (!inQuotes && DELIMITERS.includes(character))
      counts?.set(character, (counts.get(character) ?? 0) + 1);
    seen ||= character !== '\n' && character !== '\r';
  }
  const [head, row] = lines;
  const rank = (one: string): number => {
    const count = head?.get(one) ?? 0;
    return count > 0 && row?.get(one) === count ? count + LONGEST_RECORD : count;
  };
  return DELIMITERS.reduce((best, next) => (rank(next) > rank(best) ? next : best));
}
