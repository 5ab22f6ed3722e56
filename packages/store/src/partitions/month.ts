/** A month of UTC, counted from January 1970. */
export type Month = number;

/** The month that a moment is in. */
export const monthOf = (moment: Date): Month =>
  (moment.getUTCFullYear() - 1970) * 12 + moment.getUTCMonth();

/** The moment that a month begins. */
export const startOfMonth = (month: Month): Date => new Date(Date.UTC(1970, month));

/** `2026_12`, as partitions are named. */
export const nameOfMonth = (month: Month): string =>
  startOfMonth(month).toISOString().slice(0, 7).replace('-', '_');

/** The month that a partition is named after; null for one that is named after none. */
export function monthOfName(partition: string): Month | null {
  const [, year, month] = /_(\d{4})_(0[1-9]|1[0-2])$/.exec(partition) ?? [];
  return year === undefined ? null : (Number(year) - 1970) * 12 + Number(month) - 1;
}

/** The lowest UUIDv7 (RFC 9562) of a moment: they begin with its milliseconds since 1970. */
export function firstIdAt(moment: Date): string {
  const time = moment.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}
