import fc from 'fast-check';
import { expect, test } from 'vitest';
import { customFieldKey } from './custom-field-key.ts';

test('case, the form of an accent and surrounding space make no difference', () => {
  const key = customFieldKey('Profissão');
  for (const same of [' PROFISSÃO ', 'profissa\u0303o', 'PROFISSA\u0303O\n', '\u00a0profissão'])
    expect(customFieldKey(same)).toBe(key);
  expect(customFieldKey('Profissao')).not.toBe(key);
  expect(customFieldKey('Straße')).toBe(customFieldKey('STRASSE'));
  expect(customFieldKey('ΟΔΟΣ')).toBe(customFieldKey('οδος'));
});

test('a key of a key is that key, and upper case has the key of the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const key = customFieldKey(text);
      expect(customFieldKey(key)).toBe(key);
      expect(customFieldKey(text.toUpperCase())).toBe(key);
    }),
    { numRuns: 1000 },
  );
});
