import { SingleBar } from 'cli-progress';
import type { ImportProgress } from '@leadgate/operations';
import type { Io } from '../io.ts';

const LINE_EVERY_MS = 10_000;

/**
 * Shows how far an import is: a bar with rate and time left on a terminal, else a line now and then.
 * `total`: bytes of the file, null where nobody knows.
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
    format:
      '{bar} {percentage}%  {rows} rows, {refused} refused, {rate}/s, {eta_formatted} left{note}',
    etaBuffer: 50,
    hideCursor: true,
    clearOnComplete: true,
  });
  const start = performance.now();
  shown.start(total, 0, { rows: 0, refused: 0, rate: 0, note: '' });
  return {
    show: ({ bytes, rows, refused, waiting }) => {
      const rate = Math.round(rows / Math.max(0.001, (performance.now() - start) / 1_000));
      shown.update(Math.min(bytes, total), { rows, refused, rate, note: noteOf(waiting) });
    },
    close: () => shown.stop(),
  };
}

function lines(io: Io): ReturnType<typeof createProgress> {
  const start = performance.now();
  let last = start;
  return {
    show: ({ rows, refused, waiting }) => {
      const now = performance.now();
      if (now - last < LINE_EVERY_MS) return;
      last = now;
      const rate = Math.round(rows / ((now - start) / 1_000));
      io.err(`${rows} rows, ${refused} refused, ${rate}/s${noteOf(waiting)}\n`);
    },
    close: () => {},
  };
}

const noteOf = (waiting: boolean): string => (waiting ? ', waiting for the queue' : '');
