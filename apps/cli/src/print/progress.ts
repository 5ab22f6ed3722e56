import type { ImportProgress } from '@leadgate/operations';
import { SingleBar } from 'cli-progress';
import type { Io } from '../io.ts';

const LINE_EVERY_MS = 10_000;

/**
 * Shows how far an import is: a bar with rate and time left on a terminal, else a line now and then.
 * `total`: bytes of the file, null if nobody knows.
 */
export function createProgress(
  io: Io,
  { total, quiet }: { total: number | null; quiet: boolean },
): { show: (progress: ImportProgress) => void; close: () => void } {
  if (quiet) return { show: () => {}, close: () => {} };
  return io.isTerminal === true && total !== null ? bar(total) : lines(io);
}

function bar(total: number): ReturnType<typeof createProgress> {
  const shown = new SingleBar({
    // What is last is cut off when the terminal is narrow.
    format: '{bar} {percentage}% {rows} rows, {rate}/s, {left} left, {refused} refused{note}',
    barsize: 20,
    barCompleteChar: '=',
    barIncompleteChar: '-',
    hideCursor: true,
    clearOnComplete: true,
  });
  const meter = createPaceMeter();
  shown.start(total, 0, { rows: '0', refused: '0', rate: '0', left: '…', note: '' });
  return {
    show: ({ bytes, rows, refused, waiting }) => {
      const pace = meter({ at: performance.now(), bytes, rows });
      shown.update(Math.min(bytes, total), {
        rows: thousands(rows),
        refused: thousands(refused),
        rate: thousands(pace.rows),
        left: pace.bytes > 0 ? duration((total - bytes) / pace.bytes) : '…',
        note: noteOf(waiting),
      });
    },
    close: () => shown.stop(),
  };
}

function lines(io: Io): ReturnType<typeof createProgress> {
  const meter = createPaceMeter();
  let last = performance.now();
  return {
    show: ({ bytes, rows, refused, waiting }) => {
      const now = performance.now();
      const pace = meter({ at: now, bytes, rows });
      if (now - last < LINE_EVERY_MS) return;
      last = now;
      io.err(
        `${thousands(rows)} rows, ${thousands(refused)} refused, ${thousands(pace.rows)}/s${noteOf(waiting)}\n`,
      );
    },
    close: () => {},
  };
}

const noteOf = (waiting: boolean): string => (waiting ? ', waiting for the queue' : '');
const thousands = (n: number): string => Math.round(n).toLocaleString('en');

function duration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  return s < 3_600 ? `${Math.ceil(s / 60)} min` : `${(s / 3_600).toFixed(1)} h`;
}

/** How far something was, at a moment (milliseconds). */
interface Mark {
  at: number;
  rows: number;
  bytes: number;
}

const WINDOW_MS = 20_000;
const MARK_EVERY_MS = 500;

/**
 * Measures how much is done a second, over the last twenty seconds: rows that were taken before are
 * passed over ten times as fast as new ones are taken, and a mean since the start would promise the
 * impossible for a long time.
 */
export function createPaceMeter(): (mark: Mark) => { rows: number; bytes: number } {
  const marks: Mark[] = [];
  return (mark) => {
    const last = marks.at(-1);
    if (last === undefined || mark.at - last.at >= MARK_EVERY_MS) marks.push(mark);
    while (marks.length > 2 && mark.at - (marks[1]?.at ?? 0) >= WINDOW_MS) marks.shift();
    const first = marks[0] ?? mark;
    const seconds = (mark.at - first.at) / 1_000;
    if (seconds <= 0) return { rows: 0, bytes: 0 };
    return {
      rows: (mark.rows - first.rows) / seconds,
      bytes: (mark.bytes - first.bytes) / seconds,
    };
  };
}
