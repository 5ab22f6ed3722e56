import { type Reading, type Refusal, readText } from './reading.ts';

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Whether a text is a day of the calendar as YYYY-MM-DD. Counted, not asked of `Date`, which has a
 * time zone and rolls the 31st of February over into March.
 */
export function isCalendarDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0);
  return year > 0 && day >= 1 && day <= days;
}

const NOT_A_BIRTHDAY: Refusal = {
  code: 'not-a-birthday',
  detail: 'Send a real date as YYYY-MM-DD, from 1900-01-01 to today.',
};

/** What stands for no date: a mask's letters, zeros of MySQL, JavaScript's word. */
const NO_DATE =
  /^(?:[0\-/.]+(?:[T ][0:.]+Z?)?|[dmya]{1,4}([-/.])[dmya]{1,4}\1[dmya]{1,4}|invalid date)$/i;

/** A date of birth, YYYY-MM-DD; `today` in the same form. A timestamp is not a date. */
export function readBirthday(value: unknown, today: string): Reading {
  const text = readText(value);
  if (typeof text !== 'string') return text;
  if (NO_DATE.test(text)) return undefined;
  // Dates in this form sort as text.
  const isBirthday = isCalendarDate(text) && text >= '1900-01-01' && text <= today;
  return isBirthday ? text : NOT_A_BIRTHDAY;
}
