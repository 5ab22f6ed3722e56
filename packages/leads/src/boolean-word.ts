import { customFieldKey } from './custom-field-key.ts';

const WORDS = new Map([
  ['true', true],
  ['1', true],
  ['yes', true],
  ['sim', true],
  ['on', true],
  ['false', false],
  ['0', false],
  ['no', false],
  ['não', false],
  ['nao', false],
  ['off', false],
]);

/** What a word says of yes and no, in any case: `on` of a checkbox, `sim`, `0`; else undefined. */
export function booleanOfWord(text: string): boolean | undefined {
  return WORDS.get(customFieldKey(text));
}
