import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { csvRecord, REASON_COLUMN } from './csv.ts';
import type { ImportStart, RefusedRow } from './import-rows.ts';

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
