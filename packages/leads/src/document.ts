import { type Reading, type Refusal, isWholeNumber, readText } from './reading.ts';
import { foldDigits } from './telephone.ts';
import { INVISIBLE } from './text.ts';

const CPF = /^\d{11}$/;
/** Letters since July 2026 (Instrução Normativa RFB 2.229/2024); the check digits stay digits. */
const CNPJ = /^[0-9A-Z]{12}\d{2}$/;
/** What kind of document it is, before it or after. */
const WORDS =
  /^\W*(?:C\.?P\.?F|C\.?N\.?P\.?J|documento)\b(?:[\s.:]*\/\s*(?:CPF|CNPJ|MF)\b)?(?:\W*n(?:[ºo°]|[uú]mero)?(?=\W|\d))?/iu;
const WORDS_AFTER = /(?<!\W)\W+(?:CPF|CNPJ)$/i;
/** What stands around: brackets, colons. */
const AROUND = /^\W+|(?<!\W)\W+$/g;
const PUNCTUATION = /[\s./\u2010-\u2015-]+/g;

const CPF_WEIGHTS = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2];
const CNPJ_WEIGHTS = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];

const NOT_A_DOCUMENT: Refusal = {
  code: 'not-a-document',
  detail:
    'Send a CPF (11 digits) or a CNPJ (14 digits or letters, the last two digits); dots, dashes and slashes may stand among them.',
};

/**
 * A CPF or CNPJ without punctuation, letters in upper case. A JSON integer has lost its leading
 * zeros: it is padded to a CPF, or to a CNPJ if it is too long for one. Check digits are not
 * looked at: see `hasRightCheckDigits`.
 */
export function readDocument(value: unknown): Reading {
  if (typeof value === 'number') return isWholeNumber(value) ? padded(value) : NOT_A_DOCUMENT;
  const text = readText(value, undefined, INVISIBLE);
  if (typeof text !== 'string') return text;
  const bare = foldDigits(text)
    .replace(AROUND, '')
    .replace(WORDS, '')
    .replace(WORDS_AFTER, '')
    .replace(AROUND, '')
    .replace(/^(\d{8,})\.0+$/, '$1');
  const document = bare.replace(PUNCTUATION, '').toUpperCase();
  if (CPF.test(document)) return document;
  // Words of fourteen letters have the form too, and one in a hundred the check digits.
  if (CNPJ.test(document))
    return /^\d+$/.test(document) ||
      (/^\D*\d.*\d\d$/.test(document) && hasRightCheckDigits(document))
      ? document
      : NOT_A_DOCUMENT;
  // A date has punctuation, and one in a hundred the check digits.
  return /^\d{8,13}$/.test(bare) ? paddedIfRight(bare) : NOT_A_DOCUMENT;
}

/** A text cell loses leading zeros as a number does; here the check digits say that it did. */
function paddedIfRight(digits: string): string | Refusal {
  const forms = [digits.padStart(14, '0'), digits.replace(/^0+/, '').padStart(11, '0')];
  const right = forms.find((form) => /^(?:.{11}|.{14})$/.test(form) && hasRightCheckDigits(form));
  return right ?? NOT_A_DOCUMENT;
}

function padded(value: number): string | Refusal {
  const digits = String(value);
  if (digits.length > 14) return NOT_A_DOCUMENT;
  return digits.padStart(digits.length > 11 ? 14 : 11, '0');
}

/**
 * Whether both check digits of a document (as `readDocument` gives it) are right. One digit
 * repeated all along passes the sum and is no document: the Receita Federal gives none out.
 */
export function hasRightCheckDigits(document: string): boolean {
  if (/^(.)\1*$/.test(document)) return false;
  const weights = document.length === 11 ? CPF_WEIGHTS : CNPJ_WEIGHTS;
  const first = checkDigit(document, weights.slice(1));
  return document.endsWith(`${first}${checkDigit(document, weights)}`);
}

/** Modulo 11 over as many characters as there are weights, each worth its ASCII code less 48. */
function checkDigit(document: string, weights: number[]): number {
  const sum = weights.reduce((sum, weight, i) => sum + weight * (document.charCodeAt(i) - 48), 0);
  const rest = sum % 11;
  return rest < 2 ? 0 : 11 - rest;
}
