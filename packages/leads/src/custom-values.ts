import type { CustomValue, Lead } from '@leadgate/contract';
import { cleanText, isLonger, isStorable } from './clean-text.ts';
import type { Findings } from './findings.ts';
import { isJsonObject } from './json-object.ts';
import { jsonPointer } from './json-pointer.ts';
import { isBlank } from './read-text.ts';
import { isRefusal, NOT_AN_OBJECT, tooLong, type Refusal } from './refusal.ts';

const KEY_LIMIT = 100;
const ITEM_LIMIT = 100;
/** Room for a long answer in a text area; a whole body is at most 64 KiB. */
const TEXT_LIMIT = 10_000;

const TOO_MANY_KEYS: Refusal = {
  code: 'too-many-keys',
  detail: `Send at most ${KEY_LIMIT} custom fields.`,
};
const TOO_MANY_ITEMS: Refusal = {
  code: 'too-many-items',
  detail: `Send at most ${ITEM_LIMIT} texts in an array.`,
};
const NOT_A_CUSTOM_VALUE: Refusal = {
  code: 'not-a-custom-value',
  detail: 'Send text, a number, true or false, or an array of texts.',
};

/**
 * The custom fields of a body by the keys as sent: which field a key means is decided where the
 * workspace's fields are known (`resolveCustomFields`). Texts are cleaned, blank ones are absent.
 */
export function readCustomFields(value: unknown, findings: Findings): Lead['customFields'] {
  if (isBlank(value)) return undefined;
  if (!isJsonObject(value)) {
    findings.refuse(NOT_AN_OBJECT, '/customFields');
    return undefined;
  }
  const sent = Object.entries(value);
  if (sent.length > KEY_LIMIT) {
    findings.refuse(TOO_MANY_KEYS, '/customFields');
    return undefined;
  }
  const kept: [string, CustomValue][] = [];
  for (const [key, sentValue] of sent) {
    const custom = readCustomValue(sentValue);
    if (custom === undefined) continue;
    if (isRefusal(custom)) findings.refuse(custom, jsonPointer('customFields', key));
    else if (isStorable(key)) kept.push([key, custom]);
    else findings.note(jsonPointer('customFields', key), 'unknown-custom-field');
  }
  // fromEntries defines each key as its own, `__proto__` too.
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function readCustomValue(value: unknown): CustomValue | undefined | Refusal {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return readCustomText(value);
  if (typeof value === 'boolean') return value;
  // JSON.parse reads 1e999 as Infinity, and -0 as a zero that Postgres does not tell from 0.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : NOT_A_CUSTOM_VALUE;
  return Array.isArray(value) ? readCustomTexts(value) : NOT_A_CUSTOM_VALUE;
}

function readCustomText(value: string): string | undefined | Refusal {
  const text = cleanText(value);
  if (text === '') return undefined;
  return isLonger(text, TEXT_LIMIT) ? tooLong(TEXT_LIMIT) : text;
}

function readCustomTexts(items: readonly unknown[]): string[] | undefined | Refusal {
  if (items.length > ITEM_LIMIT) return TOO_MANY_ITEMS;
  const texts: string[] = [];
  for (const item of items) {
    if (item === null) continue;
    if (typeof item !== 'string') return NOT_A_CUSTOM_VALUE;
    const text = readCustomText(item);
    if (isRefusal(text)) return text;
    if (text !== undefined) texts.push(text);
  }
  return texts.length === 0 ? undefined : texts;
}
