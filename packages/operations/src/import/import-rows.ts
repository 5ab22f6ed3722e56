import { setTimeout as delay } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { PROBLEMS, type CaptureLink, type CustomField, type FieldError } from '@leadgate/contract';
import { canonicalJson, readLead } from '@leadgate/leads';
import type { Producer } from '@leadgate/queue';
import { markOfExternal, submissionsThere } from '@leadgate/store';
import { acceptBody, type ReadBody } from '../accept.ts';
import { derivedId } from '../derived-id.ts';
import { createBreathing, createPace, type Breathing } from '../pace.ts';
import type { Servers } from '../operation.ts';
import {
  describeColumns,
  columnsOfPlatform,
  isMetaExport,
  isMetaTest,
  mapRow,
  targetOf,
  type MappingRules,
  type Target,
} from './columns.ts';
import { openInput } from './open-input.ts';
import { openRows, type Row, type RowFormat, type Rows, type RowSource } from './rows.ts';
import {
  decideOrder,
  orderOf,
  readDay,
  readTime,
  type DateOrder,
  type DecidedBy,
  type TimeReading,
} from './times.ts';

export interface ImportServers extends Servers {
  producer: Servers['producer'] & Pick<Producer, 'counts'>;
}

export interface ImportOptions extends Omit<MappingRules, 'fields'> {
  /** The rows count as posted to it. Closed or not: an operator may. */
  link: CaptureLink;
  /** Of its workspace. */
  fields: readonly CustomField[];
  /** Told by how the input begins, unless it is given. */
  format?: RowFormat;
  encoding?: string;
  delimiter?: string;
  /** Of an Excel file; else the first that is not hidden. */
  sheet?: string;
  /** Of times that do not say it: an IANA zone, or minutes ahead of UTC. */
  timeZone: string | number;
  /** Sets wrong fields aside with a note, besides where the link says so. */
  lenient?: boolean;
  /** Reads, checks and counts, and writes nothing. */
  dryRun?: boolean;
  /** Rows a second at most. */
  perSecond?: number;
  /** Waits while more leads than this wait in the queue: live traffic goes first. */
  maxWaiting?: number;
  /** Stops between two groups of rows. */
  signal?: AbortSignal;
  /** Told once what was found, before the first row. */
  onStart?: (found: ImportStart) => void;
  /** Told of each row that is not taken, in order. */
  onRefused?: (row: RefusedRow) => Promise<void> | void;
  onProgress?: (progress: ImportProgress) => void;
}

export interface ImportStart {
  format: RowFormat;
  /** Columns of a CSV or a sheet and where they go; null if each row names its own. */
  columns: { name: string; target: Target; goes: string }[] | null;
  delimiter: string | null;
  sheet: Rows['sheet'];
  /** Of a text, as found until now: the first letter that tells may be further on. */
  encoding: string | null;
  /** How its times are read; null if no column has any. */
  times: (TimeReading & { decidedBy: DecidedBy }) | null;
  /** How columns of dates are read, those in which it matters. */
  dates: { column: string; order: DateOrder; decidedBy: DecidedBy }[];
}

export interface RefusedRow {
  number: number;
  errors: FieldError[];
  raw: Row['raw'];
  values: Row['values'];
}

export interface ImportProgress {
  /** Bytes of the input, as it is stored. */
  bytes: number;
  rows: number;
  /** With `dryRun`: that would be. */
  imported: number;
  /** Imported before. */
  known: number;
  refused: number;
  /** Waiting for the queue to empty. */
  waiting: boolean;
}

export interface ImportResult extends Omit<ImportProgress, 'waiting'> {
  stopped: boolean;
  /** As which a text was read; null of a sheet. */
  encoding: string | null;
  /** Errors by field and code, those most often first. */
  reasons: { pointer: string; code: string; rows: number }[];
  /** Columns that went nowhere, by name. */
  ignored: string[];
}

interface ReadRow {
  id: string;
  /** What it is remembered by for good. */
  mark: string;
  reading: ReadBody;
  stamp: number | null;
  body: string;
}

const GROUP = 500;
const GROUP_CHARACTERS = 512 * 1024;
const MOST_REASONS = 500;
const MAX_WAITING = 5_000;
/** Where the time is not known: submissions are listed by their ids, and these are not news. */
const NO_TIME = 0;

/**
 * Takes the rows of a file as if each had been posted to the link, group by group in constant
 * memory. A row's submission id follows from the link and what the row says, so that the same row
 * twice changes nothing: a run that was interrupted is run again. A row with a time of its own has
 * it as its stamp, and overwrites nothing newer.
 *
 * Throws an UnreadableInput if the input cannot be read (on); rejects when Postgres or Redis does
 * not answer for a minute. Rows that were taken until then stay.
 */
export async function importRows(
  servers: ImportServers,
  source: Readable,
  options: ImportOptions,
): Promise<ImportResult> {
  const progress: ImportProgress = {
    bytes: 0,
    rows: 0,
    imported: 0,
    known: 0,
    refused: 0,
    waiting: false,
  };
  const input = await openInput(source, {
    ...(options.encoding !== undefined && { encoding: options.encoding }),
    onBytes: (bytes) => (progress.bytes = bytes),
  });
  const breathe = createBreathing();
  const rows = await openRows(input, options);
  try {
    const targets = createTargets(options, rows.rows.columns ?? []);
    const decided = await decideReading(rows, targets, breathe, options);
    const result = await takeRows(servers, decided, { options, targets, breathe, progress });
    source.destroy();
    return { ...result, encoding: rows.encoding() };
  } finally {
    await rows.close();
  }
}

/** Where columns go. A file of rows with keys of their own has as many columns as it likes. */
interface Targets {
  of: (column: string) => Target;
  /** An export of Meta's lead ads. */
  isMeta: boolean;
  /** Names of columns that went nowhere, as many as are worth telling. */
  ignored: () => string[];
}

const MOST_TARGETS = 2_000;
const MOST_IGNORED = 200;

export function createTargets(options: ImportOptions, columns: readonly string[]): Targets {
  const platform = columnsOfPlatform(columns);
  const known = new Map<string, Target>();
  const ignored = new Set<string>();
  return {
    isMeta: isMetaExport(columns),
    of: (column) => {
      const found = known.get(column) ?? targetOf(column, options, platform);
      if (known.size < MOST_TARGETS) known.set(column, found);
      if (found.kind === 'ignored' && ignored.size < MOST_IGNORED)
        ignored.add(column.slice(0, 200));
      return found;
    },
    ignored: () => [...ignored],
  };
}

interface DecidedRows extends Rows {
  reading: TimeReading;
  /** By column; of others the country decides. */
  days: ReadonlyMap<string, DateOrder>;
}

/**
 * Decides how rows are read, and says so. If a column has times or dates, all of it is read before: in
 * one of its rows may stand what decides which of two numbers is the day. Rows that name their columns
 * themselves are read before only if one was said to have times.
 */
export async function decideReading(
  source: RowSource,
  targets: Targets,
  breathe: Breathing,
  options: ImportOptions,
): Promise<DecidedRows> {
  const { timeZone: zone, link, onStart } = options;
  const { columns, sheet, format, delimiter } = source.rows;
  const isTime = (column: string): boolean => targets.of(column).kind === 'time';
  const isDate = (column: string): boolean => {
    const target = targets.of(column);
    return target.kind === 'field' && target.isDate === true;
  };
  const hasTimes =
    options.timeColumn !== undefined ||
    Object.values(options.map ?? {}).includes('time') ||
    columns?.some(isTime) === true;
  const isReadTwice = hasTimes || columns?.some(isDate) === true;
  await source.keep(isReadTwice);
  const times = noneSeen();
  const dates = new Map<string, Seen>();
  if (isReadTwice)
    for await (const { values } of source.rows.rows) {
      if (options.signal?.aborted === true) break;
      for (const [column, value] of values ?? []) {
        const seen = isTime(column) ? times : isDate(column) ? dateColumn(dates, column) : null;
        const order = seen === null ? null : orderOf(value);
        if (seen !== null && order !== null) seen[order] += 1;
      }
      await breathe();
    }
  const ofTimes = decideOrder(times, link.country);
  const ofDates = [...dates].map(([column, seen]) => ({
    column,
    ...decideOrder(seen, link.country),
  }));
  onStart?.({
    format,
    delimiter,
    sheet,
    encoding: source.encoding(),
    times: hasTimes ? { ...ofTimes, zone } : null,
    dates: ofDates.filter(({ decidedBy }) => decidedBy !== null),
    columns:
      columns === null
        ? null
        : describeColumns(columns.map((name) => ({ name, target: targets.of(name) }))),
  });
  const days = new Map(ofDates.map(({ column, order }) => [column, order]));
  const reading = { order: ofTimes.order, zone };
  return { ...(isReadTwice ? await source.again() : source.rows), reading, days };
}

type Seen = Record<DateOrder | 'both', number>;
const noneSeen = (): Seen => ({ both: 0, 'day-first': 0, 'month-first': 0 });

function dateColumn(dates: Map<string, Seen>, column: string): Seen {
  const seen = dates.get(column) ?? noneSeen();
  if (dates.size < MOST_TARGETS) dates.set(column, seen);
  return seen;
}

interface RowsTaking {
  options: ImportOptions;
  targets: Targets;
  breathe: Breathing;
  progress: ImportProgress;
}

async function takeRows(
  servers: ImportServers,
  decided: DecidedRows,
  { options, targets, breathe, progress }: RowsTaking,
): Promise<Omit<ImportResult, 'encoding'>> {
  const reasons = new Map<string, ImportResult['reasons'][number]>();
  const pace = createPace(options.perSecond, options.signal);
  const aborted = (): boolean => options.signal?.aborted === true;
  const group: ReadRow[] = [];
  const flush = async (): Promise<void> => {
    if (!aborted()) await takeGroup(servers, group, { options, progress, pace });
    group.length = 0;
    options.onProgress?.(progress);
  };

  const readRow = createRowReader(options, targets, decided);
  let size = 0;
  for await (const row of decided.rows) {
    if (aborted()) break;
    progress.rows += 1;
    const read = readRow(row);
    if (read.kind === 'read') {
      group.push(read);
      size += read.body.length;
    } else {
      progress.refused += 1;
      count(reasons, read.errors);
      await options.onRefused?.({ ...row, errors: read.errors });
    }
    if (group.length === GROUP || size > GROUP_CHARACTERS) {
      await flush();
      size = 0;
    }
    await breathe();
  }
  await flush();

  const { waiting: _, ...counts } = progress;
  return {
    ...counts,
    stopped: aborted(),
    reasons: [...reasons.values()].sort((a, b) => b.rows - a.rows),
    ignored: targets.ignored(),
  };
}

type RowReading = ({ kind: 'read' } & ReadRow) | { kind: 'refused'; errors: FieldError[] };

export function createRowReader(
  { link, fields, lenient = false }: ImportOptions,
  { of: target, isMeta }: Targets,
  { reading: times, days, isExport }: DecidedRows,
): (row: Row) => RowReading {
  const today = new Date().toISOString().slice(0, 10);
  const byCountry = decideOrder(noneSeen(), link.country).order;
  const rules = {
    target,
    isMeta,
    typed: isExport ? fields : null,
    day: (column: string, path: string, value: unknown) =>
      readDay(value, days.get(column) ?? byCountry, path === 'birthday' ? today : null) ?? value,
  };
  return ({ values, fault }) => {
    if (values === null)
      return refusedRow({ pointer: '', code: 'malformed-row', detail: fault ?? 'It is no row.' });
    const { body: mapped, time } = mapRow(values, rules);
    if (Object.keys(mapped).length === 0) return refusedRow(NOTHING);
    // As a post that says so of itself: it is held.
    const body = isMeta && isMetaTest(values) ? { ...mapped, test: true } : mapped;
    const text = canonicalJson(body);
    if (text === null) return refusedRow(TOO_DEEP);
    const reading = readLead(body, link, { lenient, now: Date.now() });
    if (reading.kind === 'refused')
      return {
        kind: 'refused',
        errors: reading.errors.length > 0 ? reading.errors : [problemOf(reading.code)],
      };
    const stamp = time === null ? null : readTime(time.value, times);
    if (time !== null && stamp === null) {
      const wrong = wrongTime(time.column);
      if (!lenient && link.mode === 'strict') return refusedRow(wrong);
      const detail = `${wrong.code}: ${wrong.detail}`;
      reading.notes.push({ field: wrong.pointer, code: 'set-aside', detail });
    }
    const began = stamp === null ? NO_TIME : Math.floor(stamp / 1_000);
    const external = markOfExternal(reading.identities);
    const said = external === null ? [text, String(stamp)] : [external];
    const id = derivedId(began, ['import', link.workspaceId, link.linkId, ...said]);
    return { kind: 'read', id, mark: external ?? id, reading, stamp, body: text };
  };
}

const refusedRow = (error: FieldError): RowReading => ({ kind: 'refused', errors: [error] });

const TOO_DEEP: FieldError = {
  pointer: '',
  code: 'malformed-row',
  detail: 'It is nested deeper than 64 levels, as no lead is.',
};

const NOTHING: FieldError = {
  pointer: '',
  code: 'empty-row',
  detail: 'None of its columns is a field.',
};

function wrongTime(column: string): FieldError {
  return {
    pointer: `/${column}`,
    code: 'invalid-time',
    detail:
      'It is not a time, or its day and month are the other way round than in the other rows: 2026-11-27T18:00:00-03:00 says all.',
  };
}

function problemOf(code: keyof typeof PROBLEMS): FieldError {
  return { pointer: '', code, detail: PROBLEMS[code].title };
}

function count(reasons: Map<string, ImportResult['reasons'][number]>, errors: FieldError[]): void {
  for (const { pointer, code } of errors) {
    const one = reasons.get(`${pointer} ${code}`) ?? { pointer, code, rows: 0 };
    if (one.rows === 0 && reasons.size >= MOST_REASONS) continue;
    reasons.set(`${pointer} ${code}`, { ...one, rows: one.rows + 1 });
  }
}

interface Taking {
  options: ImportOptions;
  progress: ImportProgress;
  pace: () => Promise<void>;
}

/** Reserves and enqueues the rows of a group that were not imported before. */
async function takeGroup(
  servers: ImportServers,
  group: readonly ReadRow[],
  { options, progress, pace }: Taking,
): Promise<void> {
  const { signal, dryRun = false, link } = options;
  const marks = [...new Set(group.map(({ mark }) => mark))];
  const there = await patiently(() => submissionsThere(servers.store, marks), signal);
  const fresh = new Map<string, ReadRow>();
  for (const row of group) if (!there.has(row.mark)) fresh.set(row.mark, row);
  progress.known += group.length - fresh.size;
  if (dryRun) {
    progress.imported += fresh.size;
    return;
  }
  await untilThereIsRoom(servers, { options, progress, pace });
  // All at once: the reservation and the queue make groups of what comes in one moment.
  await Promise.all(
    [...fresh.values()].map(async (row) => {
      await pace();
      if (signal?.aborted === true) return;
      await patiently(() => takeRow(servers, { ...row, link }), signal);
      progress.imported += 1;
    }),
  );
}

async function takeRow(
  servers: ImportServers,
  { id, reading, stamp, body, link }: ReadRow & { link: CaptureLink },
): Promise<void> {
  const outcome = await acceptBody(servers, {
    submissionId: id,
    link,
    reading,
    stamp,
    source: 'import',
    background: true,
    body,
    bodyType: 'json',
  });
  if (outcome.kind !== 'accepted') throw new Error('Redis does not hold all of the workspace');
}

const ROOM_POLL_MS = 200;

async function untilThereIsRoom(
  { producer }: ImportServers,
  { options: { maxWaiting = MAX_WAITING, signal, onProgress }, progress }: Taking,
): Promise<void> {
  for (;;) {
    const { waiting } = await patiently(() => producer.counts(), signal);
    progress.waiting = waiting >= maxWaiting;
    if (!progress.waiting || signal?.aborted === true) return;
    onProgress?.(progress);
    await delay(ROOM_POLL_MS, undefined, { ...(signal && { signal }) }).catch(() => undefined);
  }
}

const PATIENCE_MS = 60_000;
const RETRY_MS = 500;

/** Tries again for a minute: what is done here is harmless when it is done twice. */
async function patiently<T>(run: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (performance.now() > end || signal?.aborted === true) throw error;
      await delay(RETRY_MS, undefined, { ...(signal && { signal }) }).catch(() => undefined);
    }
  }
}
