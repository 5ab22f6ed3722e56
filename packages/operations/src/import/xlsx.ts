import type { FileHandle } from 'node:fs/promises';
import { posix } from 'node:path';
import { SaxesParser } from 'saxes';
import { fromFdPromise, type Entry, type ZipFile } from 'yauzl';
import { UnreadableInput } from './open-input.ts';

/** A cell as text; a number with a fraction as it is, as its text would be ambiguous. */
export type Cell = string | number;

export interface SheetRow {
  /** As the program that wrote it shows it, from 1. */
  number: number;
  /** By column; those in which nothing stands are not there, and the last one has something. */
  cells: readonly (Cell | undefined)[];
}

export interface Workbook {
  /** The name of the sheet that is read, and the names of all that can be seen. */
  sheet: string;
  visible: string[];
  /** The rows of the sheet that have something in them, from the first on, as often as asked for. */
  rows: () => AsyncGenerator<SheetRow>;
}

const SAVE_AS_CSV = 'In the program that opens it, save it as "CSV UTF-8", and import that.';
const DAMAGED = `The Excel file is damaged, or is none. ${SAVE_AS_CSV}`;
const TOO_LARGE = `The Excel file is larger than can be read. ${SAVE_AS_CSV}`;

const MOST_ENTRIES = 10_000;
/** Bytes of a part when it is unpacked. Texts are held in memory; a sheet is read row by row. */
const LARGEST = { part: 16 * 2 ** 20, strings: 128 * 2 ** 20, sheet: 4 * 2 ** 30 };
const MOST_STRINGS = 4_000_000;
/** Of a sheet: rows, the last column (XFD), and characters of a row. */
const MOST_ROWS = 1_048_576;
const LAST_COLUMN = 16_383;
const LONGEST_ROW = 256 * 1024;

/**
 * Opens an Excel file (ECMA-376), whose pieces are anywhere in it, and finds the sheet of this name or
 * else the first that is not hidden. What is read of it at once is bounded, packed or not; throws an
 * UnreadableInput if that is exceeded or the file is none.
 */
export async function openWorkbook(file: FileHandle, wanted?: string): Promise<Workbook> {
  try {
    const archive = await Archive.open(file);
    const workbook = await readWorkbook(archive);
    const visible = workbook.sheets.filter(({ isHidden }) => !isHidden);
    const sheet =
      wanted === undefined ? visible[0] : workbook.sheets.find(({ name }) => name === wanted);
    const names = visible.map(({ name }) => name);
    if (sheet === undefined)
      throw new UnreadableInput(`It has no such sheet. Sheets: ${names.join(', ')}.`);
    const strings = await readStrings(archive, workbook.strings);
    const styles = await readStyles(archive, workbook.styles);
    const reading = { strings, styles, is1904: workbook.is1904 };
    return {
      sheet: sheet.name,
      visible: names,
      rows: () => explained(rowsOf(archive, sheet.path, reading)),
    };
  } catch (error) {
    throw asUnreadable(error);
  }
}

async function* explained<T>(rows: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    yield* rows;
  } catch (error) {
    throw asUnreadable(error);
  }
}

/** What a library says of a damaged file names its parts, which helps nobody. */
function asUnreadable(error: unknown): UnreadableInput {
  return error instanceof UnreadableInput ? error : new UnreadableInput(DAMAGED);
}

// The archive, and XML in it.

class Archive {
  readonly #zip: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;

  private constructor(zip: ZipFile, entries: ReadonlyMap<string, Entry>) {
    this.#zip = zip;
    this.#entries = entries;
  }

  static async open(file: FileHandle): Promise<Archive> {
    const zip = await fromFdPromise(file.fd, { autoClose: false });
    const entries = new Map<string, Entry>();
    for await (const entry of zip.eachEntry()) {
      if (entries.size === MOST_ENTRIES) throw new UnreadableInput(TOO_LARGE);
      entries.set(entry.fileName.toLowerCase(), entry);
    }
    if (!entries.has('[content_types].xml'))
      throw new UnreadableInput(
        'It is a zip and no Excel file: unpack it, and import the file within.',
      );
    return new Archive(zip, entries);
  }

  has(path: string): boolean {
    return this.#entries.has(path.toLowerCase());
  }

  /**
   * Walks through a part, and gives way after each piece. A part never gives more than it says, and
   * what is open at once is bounded: nesting, and characters without an end of anything.
   */
  async *walk(path: string, largest: number, visitor: Visitor): AsyncGenerator<void> {
    const entry = this.#entries.get(path.toLowerCase());
    if (entry === undefined) throw new UnreadableInput(DAMAGED);
    if (entry.uncompressedSize > largest) throw new UnreadableInput(TOO_LARGE);
    const parser = new SaxesParser<{ position: false; xmlns: false }>({
      position: false,
      xmlns: false,
    });
    let depth = 0;
    let quiet = 0;
    parser.on('error', (error) => {
      throw error;
    });
    parser.on('opentag', ({ name, attributes }) => {
      quiet = 0;
      depth += 1;
      if (depth > DEEPEST) throw new UnreadableInput(DAMAGED);
      visitor.open?.(localName(name), attributes);
    });
    parser.on('closetag', ({ name }) => {
      quiet = 0;
      depth -= 1;
      visitor.close?.(localName(name));
    });
    const onText = (text: string): void => visitor.text?.(text);
    parser.on('text', onText);
    parser.on('cdata', onText);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    const stream = await this.#zip.openReadStreamPromise(entry);
    try {
      for await (const bytes of stream as AsyncIterable<Buffer>) {
        quiet += bytes.length;
        if (quiet > MOST_QUIET) throw new UnreadableInput(DAMAGED);
        parser.write(decoder.decode(bytes, { stream: true }));
        yield;
      }
      parser.write(decoder.decode()).close();
    } finally {
      stream.destroy();
    }
  }
}

interface Visitor {
  open?: (name: string, attributes: Readonly<Record<string, string | undefined>>) => void;
  text?: (text: string) => void;
  close?: (name: string) => void;
}

const DEEPEST = 100;
const MOST_QUIET = 2 ** 20;

/** Some programs write `x:row`. */
const localName = (name: string): string => name.slice(name.indexOf(':') + 1);

async function readAll(walk: AsyncGenerator<void>): Promise<void> {
  for await (const _ of walk);
}

// What the workbook says.

interface Sheet {
  name: string;
  isHidden: boolean;
  path: string;
}

async function readWorkbook(archive: Archive) {
  const root = await readRelations(archive, '');
  const path = [...root.values()].find(({ type }) => type.endsWith('/officeDocument'))?.target;
  if (path === undefined) throw new UnreadableInput(DAMAGED);
  const relations = await readRelations(archive, path);
  const sheets: Sheet[] = [];
  let is1904 = false;
  const open: Visitor['open'] = (name, attributes) => {
    if (name === 'workbookPr') is1904 = /^(?:1|true)$/.test(attributes.date1904 ?? '');
    if (name !== 'sheet') return;
    const reference = Object.keys(attributes).find((key) => localName(key) === 'id') ?? '';
    const relation = relations.get(attributes[reference] ?? '');
    // Charts and macros stand among the sheets too.
    if (relation?.type.endsWith('/worksheet') !== true || sheets.length >= MOST_ENTRIES) return;
    const isHidden = (attributes.state ?? 'visible') !== 'visible';
    sheets.push({ name: attributes.name ?? '', isHidden, path: relation.target });
  };
  await readAll(archive.walk(path, LARGEST.part, { open }));
  const target = (kind: string) =>
    [...relations.values()].find(({ type }) => type.endsWith(`/${kind}`))?.target;
  return { sheets, is1904, strings: target('sharedStrings'), styles: target('styles') };
}

interface Relation {
  type: string;
  /** Of the part, from the root of the archive. */
  target: string;
}

/** The parts that a part refers to, by id; of the archive itself for an empty path. */
async function readRelations(archive: Archive, path: string): Promise<Map<string, Relation>> {
  const slash = path.lastIndexOf('/') + 1;
  const folder = path.slice(0, slash);
  const relations = new Map<string, Relation>();
  const open: Visitor['open'] = (name, { Id: id, Type: type, Target: target = '' }) => {
    if (name !== 'Relationship' || id === undefined || type === undefined) return;
    const path = target.startsWith('/') ? target : `${folder}${target}`;
    relations.set(id, { type, target: posix.normalize(path).replace(/^\/+/, '') });
  };
  const place = `${folder}_rels/${path.slice(slash)}.rels`;
  await readAll(archive.walk(place, LARGEST.part, { open }));
  return relations;
}

/** Texts of which cells hold the numbers; phonetic readings of them are no part. */
async function readStrings(archive: Archive, path: string | undefined): Promise<string[]> {
  const strings: string[] = [];
  if (path === undefined || !archive.has(path)) return strings;
  const rich = richText();
  const walk = archive.walk(path, LARGEST.strings, {
    open: rich.open,
    text: rich.text,
    close: (name) => {
      rich.close(name);
      if (name !== 'si') return;
      if (strings.length === MOST_STRINGS) throw new UnreadableInput(TOO_LARGE);
      // A copy: a piece of a text keeps all of that text in memory.
      strings.push(Buffer.from(rich.take()).toString());
    },
  });
  await readAll(walk);
  return strings;
}

/** Gathers the text of `<t>`, of as many runs as there are, but of phonetic ones. */
function richText() {
  let text = '';
  let inText = false;
  let inPhonetic = false;
  return {
    open: (name: string) => {
      if (name === 't') inText = true;
      if (name === 'rPh') inPhonetic = true;
    },
    text: (piece: string) => {
      if (inText && !inPhonetic && text.length <= LONGEST_ROW) text += piece;
    },
    close: (name: string) => {
      if (name === 't') inText = false;
      if (name === 'rPh') inPhonetic = false;
    },
    take: () => {
      const taken = text;
      text = '';
      return taken.includes('_x') ? taken.replace(ESCAPES, unescaped) : taken;
    },
  };
}

/** Characters that XML cannot hold, as Excel writes them (ECMA-376, ST_Xstring). */
const ESCAPES = /_x([\da-f]{4})_/gi;
const unescaped = (_: string, code: string) => String.fromCharCode(parseInt(code, 16));

// How cells are shown.

/** What of a style decides what a number means: a moment, or digits with zeros before them. */
interface Style {
  isTime: boolean;
  /** Only a time of the day. */
  isClock: boolean;
  zeros: number;
}

async function readStyles(archive: Archive, path: string | undefined): Promise<Style[]> {
  const formats = new Map<number, string>();
  const ids: number[] = [];
  if (path === undefined || !archive.has(path)) return [];
  let inCells = false;
  await readAll(
    archive.walk(path, LARGEST.part, {
      open: (name, { numFmtId = '0', formatCode = '' }) => {
        const id = Number(numFmtId);
        if (name === 'cellXfs') inCells = true;
        if (name === 'numFmt') formats.set(id, formatCode);
        if (name === 'xf' && inCells) ids.push(id);
      },
      close: (name) => {
        if (name === 'cellXfs') inCells = false;
      },
    }),
  );
  return ids.map((id) => styleOf(id, formats.get(id)));
}

/** Formats that have numbers and no text (ECMA-376, 18.8.30), those of East Asia included. */
const DATE_IDS = new Set([14, 15, 16, 17, 22, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 57, 58]);
const CLOCK_IDS = new Set([18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47, 55, 56]);

function styleOf(id: number, format: string | undefined): Style {
  if (format === undefined) {
    const isClock = CLOCK_IDS.has(id);
    return { isTime: isClock || DATE_IDS.has(id), isClock, zeros: 0 };
  }
  const [positive = ''] = format.replace(/"[^"]*"|\\.|_.|\*./g, ' ').split(';');
  const bare = positive
    .replace(/\[[^[\]]*\]/g, (bracket) => (/^\[(?:h+|m+|s+)\]$/i.test(bracket) ? 'h' : ''))
    .replace(/general|am\/pm|a\/p/gi, '')
    .toLowerCase();
  const hasClock = /[hs]/.test(bare);
  const hasDate = /[yd]/.test(bare) || (bare.includes('m') && !hasClock);
  const zeros = /^[0\s()/-]*$/.test(bare) ? bare.replace(/[^0]/g, '').length : 0;
  return { isTime: hasDate || hasClock, isClock: hasClock && !hasDate, zeros };
}

// Rows.

interface SheetTables {
  strings: readonly string[];
  styles: readonly Style[];
  is1904: boolean;
}

async function* rowsOf(
  archive: Archive,
  path: string,
  reading: SheetTables,
): AsyncGenerator<SheetRow> {
  const found: SheetRow[] = [];
  const rich = richText();
  let number = 0;
  let cells: Cell[] = [];
  let cell: { at: number; type: string; style: Style | undefined } | null = null;
  let value = '';
  let inValue = false;
  let next = 0;
  let length = 0;
  let rowCount = 0;
  const walk = archive.walk(path, LARGEST.sheet, {
    open: (name, { r: reference, t: type = 'n', s: style = '0' }) => {
      if (name === 'row') {
        number = reference === undefined ? number + 1 : Number(reference);
        if (!(number <= MOST_ROWS) || (rowCount += 1) > MOST_ROWS)
          throw new UnreadableInput(DAMAGED);
        cells = [];
        next = length = 0;
      } else if (name === 'c') {
        const at = columnOf(reference) ?? next;
        if (at > LAST_COLUMN) throw new UnreadableInput(DAMAGED);
        cell = { at, type, style: reading.styles[Number(style)] };
        next = at + 1;
        value = '';
      } else if (name === 'v') inValue = true;
      else if (cell !== null) rich.open(name);
    },
    text: (text) => {
      if (inValue) value += text;
      else if (cell !== null) rich.text(text);
    },
    close: (name) => {
      if (name === 'v') inValue = false;
      else if (name === 'c' && cell !== null) {
        const { at, type, style } = cell;
        const inline = rich.take();
        const read = readCell(type === 'inlineStr' ? inline : value, type, style, reading);
        length += typeof read === 'string' ? read.length : 0;
        if (length > LONGEST_ROW) throw new UnreadableInput(DAMAGED);
        if (read !== '') cells[at] = read;
        cell = null;
      } else if (name === 'row') {
        if (cells.length > 0) found.push({ number, cells });
      } else rich.close(name);
    },
  });
  for await (const _ of walk) {
    yield* found;
    found.length = 0;
  }
  yield* found;
}

/** Of `B7`, from 0. */
function columnOf(reference: string | undefined): number | undefined {
  const letters = /^[A-Z]{1,3}/.exec(reference ?? '')?.[0];
  if (letters === undefined) return undefined;
  return [...letters].reduce((sum, letter) => sum * 26 + letter.charCodeAt(0) - 64, 0) - 1;
}

function readCell(
  value: string,
  type: string,
  style: Style | undefined,
  reading: SheetTables,
): Cell {
  switch (type) {
    case 's': {
      const text = value === '' ? '' : reading.strings[Number(value)];
      if (text === undefined) throw new UnreadableInput(DAMAGED);
      return text;
    }
    case 'b':
      return value === '' ? '' : String(value === '1' || value === 'true');
    // An error, such as #N/A, of a formula.
    case 'e':
      return '';
    case 'd':
      return value.replace(/T00:00:00(?:\.0+)?$/, '');
    case 'n':
      return readNumber(value, style, reading.is1904);
    case 'str':
      return value.replace(ESCAPES, unescaped);
    default:
      return value;
  }
}

function readNumber(value: string, style: Style | undefined, is1904: boolean): Cell {
  const number = Number(value);
  if (value.trim() === '' || !Number.isFinite(number)) return '';
  const moment = style?.isTime === true ? momentOf(number, style.isClock, is1904) : null;
  if (moment !== null) return moment;
  // Excel counts by 15 digits; further ones come of the binary fraction.
  const exact = /^-?\d+$/.test(value) ? value : digitsOf(Number(number.toPrecision(15)));
  return typeof exact === 'string' ? exact.padStart(style?.zeros ?? 0, '0') : exact;
}

/** A whole number in digits, however large: telephones and ids are written with an exponent, too. */
function digitsOf(number: number): Cell {
  return Number.isInteger(number) ? BigInt(number).toString() : number;
}

const DAY_MS = 86_400_000;
/** Days from the beginning of either count to 1970, and to the year 10000, where Excel ends. */
const FROM_1900 = 25_569;
const FROM_1904 = 24_107;
const END = 2_958_466;

/** A number of days as a date and time without a zone; null if it is none. */
function momentOf(serial: number, isClock: boolean, is1904: boolean): string | null {
  if (serial < 0 || serial >= END) return null;
  const days = Math.floor(serial);
  // Within a thousandth of a second of a whole one it is that.
  const clock = Math.round(((serial - days) * DAY_MS) / 10) * 10;
  if (isClock && days === 0)
    return iso(clock)
      .slice(11)
      .replace(/\.000$/, '');
  // The count of 1900 has a 29th of February, by a mistake that stays.
  const skipped = !is1904 && days < 60 ? 1 : 0;
  const text = iso((days + skipped - (is1904 ? FROM_1904 : FROM_1900)) * DAY_MS + clock);
  return text.replace(/T00:00:00\.000$|\.000$/, '');
}

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString().slice(0, -1);
