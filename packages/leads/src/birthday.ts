import { isCalendarDate } from './calendar-date.ts';
import { readText } from './read-text.ts';
import type { Reading, Refusal } from './refusal.ts';

const NOT_A_BIRTHDAY: Refusal = {
  code: 'not-a-birthday',
  detail: 'Send a real date as YYYY-MM-DD, from 1900-01-01 to today.',
};

/** A date of birth, YYYY-MM-DD; `today` in the same form. A timestamp is not a date. */
export function readBirthday(value: unknown, today: string): Reading {
  const text = readText(value);
  if (typeof text !== 'string') return text;
  // Dates in this form sort as text.
  const isBirthday = isCalendarDate(text) && text >= '1900-01-01' && text <= today;
  return isBirthday ? text : NOT_A_BIRTHDAY;
}
