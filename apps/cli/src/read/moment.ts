import { readDuration } from './duration.ts';

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/;

/**
 * A moment: an ISO 8601 time with its zone, a date (its start in UTC), or a duration from now
 * (`30d`). Null where the text is none of them, or no date of the calendar.
 */
export function readMoment(text: string, now: Date): Date | null {
  const trimmed = text.trim();
  const seconds = readDuration(trimmed);
  if (seconds !== null) return new Date(now.getTime() + seconds * 1000);
  if (!DATE.test(trimmed) && !DATE_TIME.test(trimmed)) return null;
  const day = trimmed.slice(0, 10);
  const isDay = isValid(new Date(day)) && new Date(day).toISOString().startsWith(day);
  const moment = new Date(trimmed);
  return isDay && isValid(moment) ? moment : null;
}

function isValid(date: Date): boolean {
  return !Number.isNaN(date.getTime());
}
