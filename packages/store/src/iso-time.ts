/** Microseconds since 1970 as an ISO 8601 time in UTC, to the millisecond. */
export function isoTime(microseconds: number): string {
  return new Date(microseconds / 1000).toISOString();
}
