import { INVISIBLE } from './clean-text.ts';
import { isWholeNumber, readText } from './read-text.ts';
import type { Reading, Refusal } from './refusal.ts';

const NOT_A_TELEPHONE: Refusal = {
  code: 'not-a-telephone',
  detail:
    'Send 8 to 15 digits. Spaces, dots, dashes, brackets and a leading + may stand among them; letters may not.',
};

const LETTER_OR_OTHER_NUMBER = /[\p{L}\p{N}]/u;
const FOREIGN_DIGITS = /[\uff10-\uff19\u0660-\u0669\u06f0-\u06f9]/g;

/**
 * A telephone as its digits, 8 to 15 of them (E.164 allows 15). A JSON integer is accepted;
 * full-width and Arabic digits are folded.
 */
export function readTelephone(value: unknown): Reading {
  if (typeof value === 'number')
    return isWholeNumber(value) ? digitsOf(String(value)) : NOT_A_TELEPHONE;
  const text = readText(value, undefined, INVISIBLE);
  return typeof text === 'string' ? digitsOf(foldDigits(text)) : text;
}

/** Whether a telephone was sent with a + before its first digit: its country code is its own. */
export function isInternational(value: unknown): boolean {
  return typeof value === 'string' && /^[^\d]*[+\uff0b]/.test(foldDigits(value));
}

/** Digits of other scripts that keyboards type into telephone fields, as ASCII. */
export function foldDigits(text: string): string {
  // Every one of these blocks starts at a multiple of 16, or (Arabic) of 10 within one.
  return text.replace(FOREIGN_DIGITS, (digit) => String(digit.charCodeAt(0) & 0x0f));
}

function digitsOf(text: string): string | Refusal {
  const digits = text.replace(/\D+/g, '');
  const isClean = !LETTER_OR_OTHER_NUMBER.test(text.replace(/\d+/g, ''));
  return isClean && digits.length >= 8 && digits.length <= 15 ? digits : NOT_A_TELEPHONE;
}
