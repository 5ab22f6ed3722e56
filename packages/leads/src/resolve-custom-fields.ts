import type { CustomField, CustomValue, Note, NoteCode } from '@leadgate/contract';
import { compareCodePoints } from './compare-code-points.ts';
import { convertCustomValue } from './convert-custom-value.ts';
import { customFieldKey } from './custom-field-key.ts';
import { jsonPointer } from './json-pointer.ts';

/** What can stand in a key, the stronger first. */
const NAMES = ['id', 'name', 'label'] as const;

/** A key that names one field, and how well: lower ranks win. */
interface Match {
  key: string;
  field: CustomField;
  rank: number;
}

/**
 * What the custom fields of a body come to under the workspace's definitions, by field id. A key is
 * a field's exact id, else its name, else its label, else one of these without regard to case,
 * accents' form and surrounding space. Of two keys for one field, id beats name beats label, exact
 * beats folded, then the lower by code point wins, whatever its value. What is ignored is noted: an
 * unknown key (archived fields are unknown), a name or label of several fields, a key that lost,
 * and a value that the field's type cannot take. The order of keys in the body changes nothing.
 */
export function resolveCustomFields(
  customFields: Readonly<Record<string, CustomValue>>,
  fields: readonly CustomField[],
): { values: Record<string, CustomValue>; notes: Note[] } {
  const keys = Object.keys(customFields).sort(compareCodePoints);
  if (keys.length === 0) return { values: {}, notes: [] };
  const find = finderOf(fields);
  const winners = new Map<string, Match>();
  const notes: Note[] = [];
  const note = (key: string, code: NoteCode, detail?: string) =>
    notes.push({
      field: jsonPointer('customFields', key),
      code,
      ...(detail !== undefined && { detail }),
    });

  for (const key of keys) {
    const match = find(key);
    if (match === 'unknown') note(key, 'unknown-custom-field');
    else if (match === 'ambiguous') note(key, 'ambiguous-custom-field');
    else {
      const rival = winners.get(match.field.id);
      // Keys come in order of code points: of equal ranks the first stays.
      const isBetter = rival === undefined || match.rank < rival.rank;
      if (isBetter) winners.set(match.field.id, match);
      if (rival !== undefined) note(isBetter ? rival.key : key, 'overridden-custom-field');
    }
  }

  const values: [string, CustomValue][] = [];
  for (const { key, field } of winners.values()) {
    const { value, fault } = convertCustomValue(customFields[key], field);
    if (value !== undefined) values.push([field.id, value]);
    if (fault !== undefined) note(key, 'invalid-custom-value', fault);
  }
  return { values: Object.fromEntries(values), notes };
}

type Find = (key: string) => Match | 'unknown' | 'ambiguous';

/** By the array: whoever resolves many submissions hands in the same one. */
const finders = new WeakMap<readonly CustomField[], Find>();

function finderOf(fields: readonly CustomField[]): Find {
  const known = finders.get(fields);
  if (known !== undefined) return known;
  const find = createFinder(fields.filter((field) => !field.archived));
  finders.set(fields, find);
  return find;
}

function createFinder(fields: readonly CustomField[]): Find {
  const exact = NAMES.map((name) => indexOf(fields, (field) => field[name]));
  const folded = NAMES.map((name) => indexOf(fields, (field) => customFieldKey(field[name])));
  return (key) => {
    const foldedKey = customFieldKey(key);
    const levels = [
      ...exact.map((index, i) => ({ found: index.get(key), rank: 2 * i })),
      ...folded.map((index, i) => ({ found: index.get(foldedKey), rank: 2 * i + 1 })),
    ];
    const hit = levels.find(({ found }) => found !== undefined);
    if (hit?.found === undefined) return 'unknown';
    return hit.found === 'several' ? 'ambiguous' : { key, field: hit.found, rank: hit.rank };
  };
}

function indexOf(
  fields: readonly CustomField[],
  textOf: (field: CustomField) => string,
): Map<string, CustomField | 'several'> {
  const index = new Map<string, CustomField | 'several'>();
  for (const field of fields) {
    const text = textOf(field);
    index.set(text, index.has(text) ? 'several' : field);
  }
  return index;
}
