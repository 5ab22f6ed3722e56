import type { CustomField, CustomFieldType, CustomValue } from '@leadgate/contract';
import { booleanOfWord } from './boolean-word.ts';
import { isCalendarDate } from './calendar-date.ts';
import { customFieldKey } from './custom-field-key.ts';

/** A value as the type of its field has it, and what could not be taken and what would be right. */
interface Converted {
  value?: CustomValue;
  fault?: string;
}

/** One separator at most: `1.234,56` and `1,234.56` say different things in different countries. */
const DECIMAL = /^[+-]?\d+(?:[.,]\d+)?$/;
/** Digits that every double keeps (IEEE 754: 15 significant decimal digits). */
const EXACT_DIGITS = 15;

const FAULTS: Record<CustomFieldType, string> = {
  text: 'Send text, a number, true or false.',
  number: 'Send a number of at most 15 digits, such as 1234.56 or 1234,56.',
  boolean: 'Send true or false.',
  date: 'Send a real date as YYYY-MM-DD.',
  select: 'Send one of the options of the field.',
  'multi-select': 'Send options of the field; what is none of them was ignored.',
};

/**
 * A sent value as the field's type has it; no value where the type cannot take it. Of a
 * multi-select, the items that are options are kept, once each and in the order of the options.
 */
export function convertCustomValue(sent: CustomValue | undefined, field: CustomField): Converted {
  if (field.type === 'multi-select') return convertItems(sent, field.options);
  const value = convertOne(sent, field);
  return value === undefined ? { fault: FAULTS[field.type] } : { value };
}

function convertOne(sent: CustomValue | undefined, field: CustomField): CustomValue | undefined {
  if (sent === undefined || Array.isArray(sent)) return undefined;
  const text = String(sent);
  switch (field.type) {
    case 'text':
      return text;
    case 'number':
      return typeof sent === 'number' ? sent : toNumber(text, sent);
    case 'boolean':
      return booleanOfWord(text);
    case 'date':
      return isCalendarDate(text) ? text : undefined;
    default:
      return findOption(field.options, text);
  }
}

function toNumber(text: string, sent: string | boolean): number | undefined {
  if (typeof sent === 'boolean' || !DECIMAL.test(text)) return undefined;
  const digits = text.replace(/^[+-]?0*|[.,]/g, '');
  return digits.length > EXACT_DIGITS ? undefined : Number(text.replace(',', '.')) + 0;
}

function convertItems(sent: CustomValue | undefined, options: readonly string[]): Converted {
  const items = Array.isArray(sent) ? sent : sent === undefined ? [] : [String(sent)];
  const found = new Set(items.map((item) => findOption(options, item)));
  const value = options.filter((option, i) => found.has(option) && options.indexOf(option) === i);
  return {
    ...(value.length > 0 && { value }),
    ...(found.has(undefined) && { fault: FAULTS['multi-select'] }),
  };
}

/** The option that a text is, exactly or else folded; none where folding leaves two. */
function findOption(options: readonly string[], text: string): string | undefined {
  if (options.includes(text)) return text;
  const key = customFieldKey(text);
  const folded = options.filter((option) => customFieldKey(option) === key);
  return folded.length === 1 ? folded[0] : undefined;
}
