import { setTimeout as delay } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { PROBLEMS, type CaptureLink, type CustomField, type FieldError } from '@leadgate/contract';
import { readLead } from '@leadgate/leads';
import type { Producer } from '@leadgate/queue';
import { submissionsThere } from '@leadgate/store';
import { acceptBody, type ReadBody } from '../accept.ts';
import { derivedId } from '../derived-id.ts';
import { createPace } from '../pace.ts';
import type { Servers } from '../servers.ts';
import { canonicalText } from './canonical-text.ts';
import { targetOf, type MappingRules, type Target } from './map-columns.ts';
import { mapRow } from './map-row.ts';
import { openText } from './open-text.ts';
import { readRows, type Row, type RowFormat } from './read-rows.ts';

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
  /** Minutes ahead of UTC of times that do not say it. */
  timeOffset?: number;
  /** Sets wrong fields aside with a note, besides where the link says so. */
  lenient?: boolean;
  /** Reads, checks and counts, and writes nothing. */
  dryRun?: boolean;
  /** Rows a second at most. */
  perSecond?: number;
  /** Waits while more jobs than this wait in the queue: live traffic goes first. */
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
  /** Columns of a CSV and where they go; null where each row names its own. */
  columns: { name: string; target: Target }[] | null;
  delimiter: string | null;
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
  /** Errors by field and code, those most often first. */
  reasons: { pointer: string; code: string; rows: number }[];
  /** Columns that went nowhere, by name. */
  ignored: string[];
}

interface ReadRow {
  id: string;
  reading: ReadBody;
  stamp: number | null;
  body: string;
}

const GROUP = 500;
const MAX_WAITING = 5_000;
/** Where the time is not known: submissions are listed by their ids, and these are not news. */
const NO_TIME = 0;

/**
 * Takes the rows of a file as if each had been posted to the link, group by group in constant
 * memory. A row's submission id follows from the link and what the row says, so that the same row
 * twice changes nothing: a run that was interrupted is run again. A row with a time of its own has
 * it as its stamp, and overwrites nothing newer.
 *
 * Throws an UnreadableInput where the input cannot be read (on); rejects when Postgres or Redis does
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
  const text = openText(source, {
    ...(options.encoding !== undefined && { encoding: options.encoding }),
    onBytes: (bytes) => (progress.bytes = bytes),
  });
  const { format, columns, delimiter, rows } = await readRows(text, options);
  const targets = new Map<string, Target>();
  const target = (column: string): Target => {
    const found = targets.get(column) ?? targetOf(column, options);
    return (targets.set(column, found), found);
  };
  options.onStart?.({
    format,
    delimiter,
    columns: columns?.map((name) => ({ name, target: target(name) })) ?? null,
  });

  const reasons = new Map<string, ImportResult['reasons'][number]>();
  const pace = createPace(options.perSecond, options.signal);
  const aborted = (): boolean => options.signal?.aborted === true;
  const group: ReadRow[] = [];
  const flush = async (): Promise<void> => {
    if (!aborted()) await takeGroup(servers, group, { options, progress, pace });
    group.length = 0;
    options.onProgress?.(progress);
  };

  for await (const row of rows) {
    if (aborted()) break;
    progress.rows += 1;
    const read = readRow(row, target, options);
    if (read.kind === 'read') group.push(read);
    else {
      progress.refused += 1;
      count(reasons, read.errors);
      await options.onRefused?.({ ...row, errors: read.errors });
    }
    if (group.length === GROUP) await flush();
  }
  await flush();
  source.destroy();

  const { waiting: _, ...counts } = progress;
  return {
    ...counts,
    stopped: aborted(),
    reasons: [...reasons.values()].sort((a, b) => b.rows - a.rows),
    ignored: [...targets].flatMap(([name, { kind }]) => (kind === 'ignored' ? [name] : [])),
  };
}

function readRow(
  { values }: Row,
  target: (column: string) => Target,
  { link, lenient = false, timeOffset = 0 }: ImportOptions,
): ({ kind: 'read' } & ReadRow) | { kind: 'refused'; errors: FieldError[] } {
  if (values === null) return { kind: 'refused', errors: [NOT_A_ROW] };
  const mapped = mapRow(values, { target, timeOffset });
  if (mapped.kind === 'refused') return mapped;
  const { body, stamp } = mapped;
  if (Object.keys(body).length === 0) return { kind: 'refused', errors: [NOTHING] };
  const reading = readLead(body, link, { lenient, now: Date.now() });
  if (reading.kind === 'refused')
    return {
      kind: 'refused',
      errors: reading.errors.length > 0 ? reading.errors : [problemOf(reading.code)],
    };
  const text = canonicalText(body);
  const time = stamp === null ? NO_TIME : Math.floor(stamp / 1_000);
  const id = derivedId(time, ['import', link.workspaceId, link.linkId, text, String(stamp)]);
  return { kind: 'read', id, reading, stamp, body: text };
}

const NOT_A_ROW: FieldError = {
  pointer: '',
  code: 'malformed-row',
  detail: 'It is not a JSON object, or has more cells than the head has columns.',
};
const NOTHING: FieldError = {
  pointer: '',
  code: 'empty-row',
  detail: 'None of its columns is a field.',
};

function problemOf(code: keyof typeof PROBLEMS): FieldError {
  return { pointer: '', code, detail: PROBLEMS[code].title };
}

function count(reasons: Map<string, ImportResult['reasons'][number]>, errors: FieldError[]): void {
  for (const { pointer, code } of errors) {
    const one = reasons.get(`${pointer} ${code}`) ?? { pointer, code, rows: 0 };
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
  const ids = [...new Set(group.map(({ id }) => id))];
  const there = await patiently(() => submissionsThere(servers.store, ids), signal);
  const fresh = new Map<string, ReadRow>();
  for (const row of group) if (!there.has(row.id)) fresh.set(row.id, row);
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
