import { cleanText, isLonger } from './clean-text.ts';
import { NOT_TEXT, tooLong, type Reading } from './refusal.ts';

/** Code points in a standard field other than those with a limit of their own. */
const TEXT_LIMIT = 200;

/** A text field: at most `max` code points when clean. Null and blank text are not sent. */
export function readText(value: unknown, max: number = TEXT_LIMIT, drop?: RegExp): Reading {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return NOT_TEXT;
  const text = cleanText(value, drop);
  if (text === '') return undefined;
  return isLonger(text, max) ? tooLong(max) : text;
}

/** As `readText`, but a JSON integer is taken for its digits. */
export function readTextOrInteger(value: unknown): Reading {
  return readText(isWholeNumber(value) ? String(value) : value);
}

/** Whether a value says that nothing was sent: null, or text with nothing to see. */
export function isBlank(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return typeof value === 'string' && cleanText(value) === '';
}

/** A number that is safely the digits it was sent as: no sign, no fraction, exact. */
export function isWholeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
