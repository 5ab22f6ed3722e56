const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Ten years: longer is a slip of the finger. */
const LONGEST = 10 * 366 * 86_400;

/** Seconds of a duration such as `90s`, `30m`, `12h`, `7d`, `2w` or `0`; null where it is none. */
export function readDuration(text: string): number | null {
  if (text.trim() === '0') return 0;
  const match = /^(\d{1,9})([smhdw])$/.exec(text.trim());
  const seconds = Number(match?.[1]) * (SECONDS[match?.[2] ?? ''] ?? Number.NaN);
  return Number.isFinite(seconds) && seconds <= LONGEST ? seconds : null;
}
