import { Writable } from 'node:stream';
import {
  createErrorReport,
  type ErrorReport,
  type ImportProgress,
  type ImportStart,
  type RefusedRow,
} from '@leadgate/operations';

/** An import that this process runs, or ran lately. */
export interface ImportRun {
  importId: string;
  linkId: string;
  startedBy: string;
  startedAt: Date;
  dryRun: boolean;
  totalBytes: number | null;
  progress: ImportProgress;
  state: 'running' | 'done' | 'stopped' | 'refused' | 'failed';
  /** Why it did not end well. A sentence without personal data. */
  problem: string | null;
  signal: AbortSignal;
  stop: () => void;
  report: RefusedReport;
}

export interface ImportLog {
  /** Null if one of this id was begun, or as many run as may. */
  begin: (
    run: Pick<ImportRun, 'importId' | 'linkId' | 'startedBy' | 'dryRun' | 'totalBytes'>,
  ) => (ImportRun & { signal: AbortSignal }) | null;
  find: (importId: string) => ImportRun | null;
  /** Newest first. */
  list: () => ImportRun[];
}

/** Those that run at once: each has a file of its own open, and all of them one queue. */
const MOST_RUNNING = 4;
const KEPT = 20;

/** Remembers the imports of this process: those that run, and the last ones. */
export function createImportLog(): ImportLog {
  const runs = new Map<string, ImportRun>();
  const list = () => [...runs.values()].reverse();
  return {
    list,
    find: (importId) => runs.get(importId) ?? null,
    begin: (begun) => {
      const running = list().filter(({ state }) => state === 'running');
      if (runs.has(begun.importId) || running.length >= MOST_RUNNING) return null;
      const stopped = new AbortController();
      const run: ImportRun = {
        ...begun,
        startedAt: new Date(),
        progress: { bytes: 0, rows: 0, imported: 0, known: 0, refused: 0, waiting: false },
        state: 'running',
        problem: null,
        signal: stopped.signal,
        stop: () => stopped.abort(),
        report: createRefusedReport(),
      };
      runs.set(run.importId, run);
      for (const { importId, state } of runs.values())
        if (runs.size > KEPT && state !== 'running') runs.delete(importId);
      return run;
    },
  };
}

/** The rows that an import refused, as a file of its form. */
interface RefusedReport {
  start: (found: ImportStart) => void;
  add: (row: RefusedRow) => Promise<void>;
  file: () => Promise<{ name: string; text: string }>;
}

/** It is kept in memory: enough to see what is wrong. The command line writes all of it to a file. */
const LONGEST_REPORT = 1_000_000;

function createRefusedReport(): RefusedReport {
  const pieces: string[] = [];
  let length = 0;
  let format: ImportStart['format'] = 'csv';
  let report: ErrorReport | null = null;
  const to = new Writable({
    decodeStrings: false,
    write: (piece: string, _encoding, done) => {
      pieces.push(piece);
      length += piece.length;
      done();
    },
  });
  return {
    start: (found) => {
      format = found.format;
      report = createErrorReport(to, found);
    },
    add: async (row) => {
      if (length < LONGEST_REPORT) await report?.add(row);
    },
    file: async () => {
      // An array has its end only now.
      const end = format === 'json' && pieces.length > 0 ? '\n]\n' : '';
      return { name: `refused.${format}`, text: pieces.join('') + end };
    },
  };
}
