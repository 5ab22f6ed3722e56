import type { Store } from './open-store.ts';

/** Microseconds since 1970 as an ISO 8601 time in UTC, to the millisecond. */
export function isoTime(microseconds: number): string {
  return new Date(microseconds / 1000).toISOString();
}

/** A time as stamps and orders count it: microseconds since 1970. */
export const microseconds = (time: Date): number => time.getTime() * 1_000;

/** The time by Postgres's clock. */
export async function databaseTime(store: Store): Promise<Date> {
  const [row] = await store.prisma.$queryRaw<[{ now: Date }]>`SELECT clock_timestamp() AS now`;
  return row.now;
}
