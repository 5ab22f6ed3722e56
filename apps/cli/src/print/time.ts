/** A time in UTC, to the second: `2026-11-27 23:05:10Z`. */
export function shortTime(time: Date | string): string {
  return new Date(time).toISOString().replace('T', ' ').replace(/\.\d+/, '');
}
