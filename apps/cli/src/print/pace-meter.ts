/** How far something was, at a moment (milliseconds). */
export interface Mark {
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
