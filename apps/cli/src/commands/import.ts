import {
  createErrorReport,
  type ErrorReport,
  type ImportOptions,
  type ImportResult,
  type ImportStart,
  isTimeZone,
  readOffset,
  Refusal,
  type RowFormat,
  startImport,
} from '@leadgate/operations';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { callOf, connectionsOf } from '../call.ts';
import { answer, collect, type Context, describe, type JsonOption, remark } from '../command.ts';
import { EXIT, Failure, stopOnInterrupt } from '../io.ts';
import { findLinkNamed } from '../named.ts';
import { createProgress } from '../print/progress.ts';
import { showable } from '../print/showable.ts';
import { count, table } from '../print/table.ts';
import { rate, wholeNumber } from '../read.ts';

interface ImportCommandOptions extends JsonOption {
  link: string;
  format?: RowFormat;
  encoding?: string;
  delimiter?: string;
  sheet?: string;
  map?: string[];
  timeColumn?: string;
  timeOffset?: number;
  timeZone?: string;
  lenient?: boolean;
  dryRun?: boolean;
  rate?: number;
  maxWaiting?: number;
  errors?: string;
}

export function addImport(command: Command, context: Context): void {
  describe(command, {
    details:
      'CSV, JSON line by line, a JSON array, packed with gzip or not; or an Excel file (xlsx). The same row twice changes nothing, so a run that was stopped is run again. Rows that are refused are written to a file, to be mended and imported.',
    examples: [
      'import leads.csv --link summer-sale --dry-run',
      'import old-crm.csv.gz --link summer-sale --time-column "criado em" --time-zone Europe/Lisbon --map Fone=telephone',
      'import - --link summer-sale --rate 200/s < leads.ndjson',
    ],
  })
    .argument('<file>', 'the file, or - for the standard input')
    .requiredOption('--link <link>', 'the link they count as posted to: code, id or capture URL')
    .addOption(
      new Option('--format <format>', 'told by how the file begins').choices([
        'csv',
        'ndjson',
        'json',
      ]),
    )
    .option('--encoding <name>', 'of a text that is not UTF-8: windows-1252, iso-8859-1, …')
    .option('--delimiter <character>', 'of a CSV; told by its head', delimiter)
    .option('--sheet <name>', 'of an Excel file; the first that is not hidden, unless given')
    .option(
      '--map <column=field>',
      'where a column goes: email, address.city, customFields.plan, time; - to ignore it; may be repeated',
      collect,
    )
    .option('--time-column <column>', 'the column with the time of the original submission')
    .option(
      '--time-zone <zone>',
      "of times that do not say theirs: Europe/Lisbon; the workspace's unless given",
      timeZone,
    )
    .option('--time-offset <offset>', 'the same as a fixed offset: -03:00', offset)
    .option(
      '--lenient',
      'set wrong fields and times aside with a note, instead of refusing the row',
    )
    .option('--dry-run', 'say what would be refused and why, and write nothing')
    .option('--rate <rate>', 'how many rows at most: 200/s', rate)
    .option('--max-waiting <n>', 'wait while more leads than this wait in the queue', wholeNumber)
    .option('--errors <file>', 'where refused rows are written')
    .action((file: string, options: ImportCommandOptions) => bring(context, file, options));
}

function delimiter(text: string): string {
  const character = text === '\\t' || text === 'tab' ? '\t' : text;
  if (character.length === 1 && character !== '"') return character;
  throw new InvalidArgumentError('It is one character; tab for a tab.');
}

function offset(text: string): number {
  const minutes = /^(utc|z)$/i.test(text.trim()) ? 0 : readOffset(text);
  if (minutes !== null) return minutes;
  throw new InvalidArgumentError('It is how far ahead of UTC: -03:00.');
}

function timeZone(text: string): string {
  if (isTimeZone(text)) return text;
  throw new InvalidArgumentError('It is the name of a time zone: America/Sao_Paulo.');
}

async function bring(context: Context, file: string, options: ImportCommandOptions): Promise<void> {
  const { io, session } = context;
  const { id: linkId } = await findLinkNamed(session.store(), options.link);
  const input = await openInput(io.cwd, file);
  const report = reportOf(context, file, options);
  const interrupt = stopOnInterrupt();
  const progress = createProgress(io, { total: input.size, quiet: options.json === true });
  const timeZone = options.timeOffset ?? options.timeZone;
  try {
    const started = await startImport(
      connectionsOf(session),
      input.stream,
      {
        ...settingsOf(options),
        ...(timeZone !== undefined && { timeZone }),
        linkId,
        totalBytes: input.size,
        keepsRefused: false,
        onStart: (start) => {
          report.start(start);
          tellReading(context, start, options);
        },
        onRefused: (row) => report.add(row),
        onProgress: progress.show,
      },
      callOf(context),
    );
    if (started instanceof Refusal) throw new Failure(started.detail);
    interrupt.signal.addEventListener('abort', started.stop);
    const [ended, result] = await Promise.all([started.ended, started.result]);
    progress.close();
    await report.close();
    if (result !== null) tellEnd(context, result, report.path(), options);
    if (ended.state === 'stopped') throw new Failure(`stopped; ${RUN_AGAIN}`, EXIT.stopped);
    if (ended.state === 'done') return;
    if (ended.error === null) throw new Failure(`${showable(file)}: ${ended.problem}`);
    remark(io, RUN_AGAIN);
    throw ended.error;
  } finally {
    interrupt.close();
    input.stream.destroy();
  }
}

const RUN_AGAIN = 'to go on, run the same command again: rows that were taken are passed over.';

async function openInput(
  cwd: string,
  file: string,
): Promise<{ stream: Readable; size: number | null }> {
  if (file === '-') return { stream: process.stdin, size: null };
  const path = resolve(cwd, file);
  const facts = await stat(path).catch(() => null);
  if (facts === null || !facts.isFile())
    throw new Failure(`There is no file ${showable(path)}.`, EXIT.usage);
  return { stream: createReadStream(path, { highWaterMark: 256 * 1024 }), size: facts.size };
}

function settingsOf(options: ImportCommandOptions): Partial<ImportOptions> {
  const { format, encoding, sheet, timeColumn, lenient, dryRun, maxWaiting } = options;
  return {
    ...(format !== undefined && { format }),
    ...(encoding !== undefined && { encoding }),
    ...(options.delimiter !== undefined && { delimiter: options.delimiter }),
    ...(sheet !== undefined && { sheet }),
    ...(options.map !== undefined && { map: Object.fromEntries(options.map.map(mapping)) }),
    ...(timeColumn !== undefined && { timeColumn }),
    ...(lenient !== undefined && { lenient }),
    ...(dryRun !== undefined && { dryRun }),
    ...(options.rate !== undefined && { perSecond: options.rate }),
    ...(maxWaiting !== undefined && { maxWaiting }),
  };
}

/** The field is what stands after the last `=`: names of columns may hold one. */
function mapping(text: string): [string, string] {
  const at = text.lastIndexOf('=');
  if (at < 1 || at === text.length - 1)
    throw new Failure(`"${showable(text)}" is not of the form column=field.`, EXIT.usage);
  return [text.slice(0, at), text.slice(at + 1)];
}

/** The file of refused rows, made with the first of them. A dry run makes none that was not named. */
function reportOf({ io }: Context, file: string, { errors, dryRun }: ImportCommandOptions) {
  let start: ImportStart | undefined;
  let report: ErrorReport | undefined;
  let path: string | null = null;
  return {
    start: (found: ImportStart) => void (start = found),
    add: async (row: Parameters<ErrorReport['add']>[0]) => {
      if (start === undefined || (dryRun === true && errors === undefined)) return;
      if (report === undefined) {
        path = resolve(io.cwd, errors ?? errorsName(file, start.format));
        report = createErrorReport(createWriteStream(path, { mode: 0o600 }), start);
      }
      await report.add(row);
    },
    close: async () => report?.close(),
    path: () => path,
  };
}

function errorsName(file: string, format: RowFormat): string {
  const name =
    file === '-'
      ? 'import'
      : basename(file).replace(/(\.(csv|tsv|txt|xlsx|json|ndjson|jsonl))?(\.gz)?$/i, '');
  return `${name}.errors.${format}`;
}

/** Says how the file is read, before anything of it is taken. */
function tellReading(
  { io }: Context,
  { sheet, encoding, columns, times, dates }: ImportStart,
  { json }: ImportCommandOptions,
): void {
  if (json === true) return;
  if (encoding !== null && encoding !== 'utf-8') io.err(`${showable(`Text in ${encoding}.`)}\n`);
  if (sheet !== null) io.err(`${showable(sheetText(sheet))}\n`);
  if (columns !== null)
    io.err(
      `${table(
        ['column', 'field'],
        columns.map(({ name, goes }) => [name, goes]),
      )}\n`,
    );
  for (const { column, ...decided } of dates)
    io.err(`${showable(column)}: ${orderText(decided)}.\n`);
  if (times !== null) io.err(`${timesText(times)}\n`);
}

function sheetText({ name, all }: NonNullable<ImportStart['sheet']>): string {
  const others = all.filter((other) => other !== name);
  const beside = others.length === 0 ? '' : ` Not read: ${others.join(', ')} (--sheet).`;
  return `Sheet ${name}.${beside}`;
}

function orderText({ order, decidedBy }: Omit<ImportStart['dates'][number], 'column'>): string {
  const first = order === 'day-first' ? 'day' : 'month';
  const why =
    decidedBy === 'rows' ? 'other rows say so' : 'no row says, it is usual in the country';
  return `of 05/06/2026 the ${first} stands first: ${why}`;
}

function timesText({ order, zone, decidedBy }: NonNullable<ImportStart['times']>): string {
  const dates = decidedBy === null ? '' : `Times: ${orderText({ order, decidedBy })}. `;
  const place = typeof zone === 'string' ? zone : `${zone} minutes ahead of UTC`;
  return `${dates}Times without a zone are of ${place}.\n`;
}

function tellEnd(
  { io }: Context,
  result: ImportResult,
  path: string | null,
  options: ImportCommandOptions,
): void {
  answer(io, options, { ...result, errors: path }, () => resultText(result, options));
  if (path !== null) remark(io, `refused rows are in ${showable(path)}: mend them and import it.`);
}

function resultText(
  { rows, imported, known, refused, encoding, reasons, ignored }: ImportResult,
  { dryRun, encoding: said }: ImportCommandOptions,
): string {
  const taken = dryRun === true ? 'would be taken' : 'taken';
  const head = `${count(rows, 'row')}: ${count(imported, 'row')} ${taken}, ${known} known already, ${refused} refused.\n`;
  const wrong = table(
    ['rows', 'field', 'wrong'],
    reasons.slice(0, 20).map((reason) => [reason.rows, reason.pointer || '(row)', reason.code]),
  );
  return [
    head,
    ...(encoding === 'windows-1252' && said === undefined
      ? ['It was read as windows-1252, as it is not UTF-8 (--encoding).\n']
      : []),
    ...(reasons.length === 0 ? [] : [`\n${wrong}`]),
    ...(ignored.length === 0 ? [] : [`\nIgnored: ${ignored.map(showable).join(', ')} (--map)\n`]),
  ].join('');
}
