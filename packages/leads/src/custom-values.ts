import type { CustomValue, Lead, NoteCode } from '@leadgate/contract';
import { cleanText, cutText, isStorable } from './clean-text.ts';
import type { Findings } from './findings.ts';
import { isJsonObject } from './json-object.ts';
import { jsonPointer } from './json-pointer.ts';
import { isBlank } from './read-text.ts';
import { NOT_AN_OBJECT, type Refusal } from './refusal.ts';

const KEY_LIMIT = 100;
const ITEM_LIMIT = 100;
/** Room for a long answer in a text area; a whole body is at most 64 KiB. */
const TEXT_LIMIT = 10_000;

const TOO_MANY_KEYS: Refusal = {
  code: 'too-many-keys',
  detail: `Send at most ${KEY_LIMIT} custom fields.`,
};
const TAKEN = 'Send text, a number, true or false, or an array of these.';

/**
 * The custom fields of a body by the keys as sent: which field a key means is decided where the
 * workspace's fields are known (`resolveCustomFields`). Texts are cleaned, blank ones are absent. No
 * value is refused: what no field can take is noted and ignored, and what is too long is cut.
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
    const note = (code: NoteCode, detail?: string) =>
      findings.note(jsonPointer('customFields', key), code, detail);
    const custom = readCustomValue(sentValue, note);
    if (custom === undefined) continue;
    if (isStorable(key)) kept.push([key, custom]);
    else note('unknown-custom-field');
  }
  // fromEntries defines each key as its own, `__proto__` too.
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

type TakeNote = (code: NoteCode, detail?: string) => void;

function readCustomValue(value: unknown, note: TakeNote): CustomValue | undefined {
  if (Array.isArray(value)) return readCustomItems(value, note);
  const scalar = readScalar(value, note);
  if (scalar === null) note('invalid-custom-value', TAKEN);
  return scalar ?? undefined;
}

/** Of an array, the items that are texts, numbers, true or false. One note says that some are not. */
function readCustomItems(items: readonly unknown[], note: TakeNote): string[] | undefined {
  const texts: string[] = [];
  const faults = new Set<string>();
  if (items.length > ITEM_LIMIT) note('cut', `at ${ITEM_LIMIT} items`);
  for (const item of items.slice(0, ITEM_LIMIT)) {
    const scalar = readScalar(item, (_, detail = '') => faults.add(detail));
    if (scalar === null) faults.add(TAKEN);
    else if (scalar !== undefined) texts.push(String(scalar));
  }
  for (const detail of faults) note(detail === TAKEN ? 'invalid-custom-value' : 'cut', detail);
  return texts.length === 0 ? undefined : texts;
}

/** A text, number or boolean; undefined if nothing was sent, null if it is something else. */
function readScalar(value: unknown, note: TakeNote): string | number | boolean | undefined | null {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'boolean') return value;
  // JSON.parse reads 1e999 as Infinity, and -0 as a zero that Postgres does not tell from 0.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (typeof value !== 'string') return null;
  const text = cleanText(value);
  const cut = cutText(text, TEXT_LIMIT).trimEnd();
  if (cut !== text) note('cut', `at ${TEXT_LIMIT} characters`);
  return cut === '' ? undefined : cut;
}
