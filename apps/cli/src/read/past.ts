import { InvalidArgumentError } from 'commander';
import { readDuration } from './duration.ts';
import { readMoment } from './moment.ts';

/** Reads an option's moment in the past, for commander: a time, a date, or how long ago (`2h`). */
export function past(text: string): Date {
  const now = new Date();
  const seconds = readDuration(text);
  const moment =
    seconds === null ? readMoment(text, now) : new Date(now.getTime() - seconds * 1_000);
  if (moment !== null) return moment;
  throw new InvalidArgumentError(
    'It is a time with its zone (2026-11-27T18:00:00-03:00), a date (UTC), or how long ago (90s, 30m, 12h, 7d).',
  );
}
