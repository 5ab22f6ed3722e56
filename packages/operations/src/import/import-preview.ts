import type { Readable } from 'node:stream';
import { findWorkspace, linkEntries, listFields } from '@leadgate/store';
import { Type, type Static } from 'typebox';
import { Refusal, type Connections } from '../operation.ts';
import { createBreathing } from '../pace.ts';
import { Nullable } from '../schema.ts';
import { TARGETS, type Target } from './columns.ts';
import {
  createRowReader,
  createTargets,
  decideReading,
  type ImportOptions,
  type ImportStart,
} from './import-rows.ts';
import { openInput, UnreadableInput } from './open-input.ts';
import { openRows, type Row } from './rows.ts';

const Fault = Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String() });

const Order = Type.String({ description: 'day-first or month-first.' });

/** How a file would be read, before anything of it is. */
export const ImportPreview = Type.Object({
  format: Type.String({ description: 'csv (a sheet too), ndjson or json.' }),
  encoding: Nullable(Type.String({ description: 'Of a text, as far as was read.' })),
  delimiter: Nullable(Type.String()),
  sheet: Nullable(Type.Object({ name: Type.String(), all: Type.Array(Type.String()) })),
  columns: Type.Array(
    Type.Object({
      name: Type.String(),
      target: Type.String({ description: 'Where it goes: as in `map`; - is nowhere.' }),
      part: Nullable(Type.String({ description: 'first or last: of the name.' })),
    }),
  ),
  targets: Type.Array(Type.Object({ target: Type.String(), label: Nullable(Type.String()) }), {
    description: 'Where a column can go; labels are those of custom fields.',
  }),
  times: Nullable(Type.Object({ order: Order, zone: Type.Union([Type.String(), Type.Number()]) })),
  dates: Type.Array(Type.Object({ column: Type.String(), order: Order })),
  rows: Type.Array(
    Type.Object({
      number: Type.Integer(),
      cells: Type.Array(Type.String(), { description: 'By column.' }),
      errors: Type.Array(Fault, { description: 'Why it would be refused.' }),
    }),
  ),
});

const MOST_ROWS = 10;
const LONGEST_CELL = 200;

type PreviewOptions = Pick<
  ImportOptions,
  'format' | 'encoding' | 'delimiter' | 'sheet' | 'timeColumn' | 'map' | 'lenient'
> & { linkId: string; timeZone?: string | number };

/**
 * Reads the beginning of a file as an import would: writes nothing. What decides the order of day and
 * month may stand further on than `source` goes.
 */
export async function previewImport(
  { store }: Pick<Connections, 'store'>,
  source: Readable,
  { linkId, timeZone, ...options }: PreviewOptions,
): Promise<Static<typeof ImportPreview> | Refusal> {
  const [entry] = await linkEntries(store, linkId);
  if (entry === undefined) return new Refusal('not-found', 'There is no such link.');
  const { link } = entry;
  const [fields, workspace] = await Promise.all([
    listFields(store, link.workspaceId),
    findWorkspace(store, link.workspaceId),
  ]);
  const zone = timeZone ?? workspace?.timeZone ?? 'UTC';
  const reading: ImportOptions = { ...options, link, fields, timeZone: zone };
  try {
    const rows = await openRows(await openInput(source, options), options);
    try {
      const targets = createTargets(reading, rows.rows.columns ?? []);
      const told: ImportStart[] = [];
      const decided = await decideReading(rows, targets, createBreathing(), {
        ...reading,
        onStart: (found) => told.push(found),
      });
      const readRow = createRowReader(reading, targets, decided);
      const first: { row: Row; errors: Static<typeof Fault>[] }[] = [];
      for await (const row of decided.rows) {
        const read = readRow(row);
        first.push({ row, errors: read.kind === 'refused' ? read.errors : [] });
        if (first.length === MOST_ROWS) break;
      }
      // Rows that name their columns themselves: those of the first.
      const names = decided.columns ?? [
        ...new Set(first.flatMap(({ row }) => (row.values ?? []).map(([name]) => name))),
      ];
      const { times = null, dates = [] } = told[0] ?? {};
      return {
        format: decided.format,
        encoding: rows.encoding(),
        delimiter: decided.delimiter,
        sheet: decided.sheet === null ? null : { ...decided.sheet, all: [...decided.sheet.all] },
        columns: names.map((name) => ({ name, ...saidOf(targets.of(name)) })),
        targets: [
          ...TARGETS.map((target) => ({ target, label: null })),
          ...fields
            .filter(({ archived }) => !archived)
            .map(({ name, label }) => ({ target: `customFields.${name}`, label })),
        ],
        times,
        dates,
        rows: first.map(({ row, errors }) => ({
          number: row.number,
          cells: cellsOf(row, names),
          errors,
        })),
      };
    } finally {
      await rows.close();
    }
  } catch (error) {
    if (error instanceof UnreadableInput) return new Refusal('malformed-request', error.message);
    throw error;
  } finally {
    // What is still being sent is not waited for.
    source.resume();
  }
}

/** A target as an operator writes it. */
function saidOf(target: Target): { target: string; part: 'first' | 'last' | null } {
  if (target.kind === 'field') return { target: target.path, part: target.part ?? null };
  return { target: target.kind === 'time' ? 'time' : '-', part: null };
}

/** What stands in a row, by column, cut to what can be shown. */
export function cellsOf({ values, raw }: Pick<Row, 'values' | 'raw'>, names: readonly string[]) {
  // The first of several columns of one name.
  const byName = new Map(values?.toReversed());
  const texts =
    values === null
      ? [raw].flat()
      : names.map((name) => {
          const value = byName.get(name);
          return value === undefined || value === null
            ? ''
            : typeof value === 'string'
              ? value
              : JSON.stringify(value);
        });
  return texts.map((text) => text.slice(0, LONGEST_CELL));
}
