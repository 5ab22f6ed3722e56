import { expect, test } from 'vitest';
import { isInternational, isPhoneCountry, readTelephone } from './telephone.ts';

test.each([
  ['+55 (11) 98765-4321', '5511987654321'],
  ['11.98765.4321', '11987654321'],
  ['１１９８７６５４３２１', '11987654321'],
  ['٠١٢٣٤٥٦٧٨٩', '0123456789'],
  ['۰۱۲۳۴۵۶۷۸۹', '0123456789'],
  ['\u202a+55 11 98765-4321\u202c', '5511987654321'],
  ['88880006', '88880006'],
  [5511900000004, '5511900000004'],
])('%j is kept as its digits', (sent, digits) => {
  expect(readTelephone(sent)).toBe(digits);
});

test.each([
  'abc',
  '11 98765-4321 ramal 2',
  'tel:11987654321',
  '11 ９8765-43²1',
  '1234567',
  '1234567890123456',
  1234567,
  12345678.5,
  -11987654321,
  1e21,
  NaN,
])('%j is refused', (sent) => {
  expect(readTelephone(sent)).toMatchObject({ code: 'not-a-telephone' });
});

test('a + counts only before the first digit', () => {
  expect(isInternational('+55 11')).toBe(true);
  expect(isInternational(' (＋55) 11')).toBe(true);
  expect(isInternational('55+11')).toBe(false);
  expect(isInternational('５５+11')).toBe(false);
  expect(isInternational(5511)).toBe(false);
});

test.each(['BR', 'PT', 'US'])('the phones of %s are known', (country) => {
  expect(isPhoneCountry(country)).toBe(true);
});

test.each(['br', 'BRA', 'ZZ', '', 'toString', '55'])('%j is no country of phones', (text) => {
  expect(isPhoneCountry(text)).toBe(false);
});

test.each(['+55', '+55 ', '(__) _____-____', '-', '+55 (__) _____-____', '---'])(
  '%j, which a mask leaves, is not sent',
  (sent) => {
    expect(readTelephone(sent)).toBeUndefined();
  },
);

test.each([
  ['5511987650007.0', '5511987650007'],
  ['+55+5511987650007', '5511987650007'],
  ['0xx11 98765-4321', '011987654321'],
  ['(0XX11) 98765-4321', '011987654321'],
  ['11987654321 / 1133334444', '11987654321'],
  ['(11) 98765-4321 ou (11) 3333-4444', '11987654321'],
  ['11 98765-4321; 11 3333-4444', '11987654321'],
  ['(11) 98765-4321 / 4322', '11987654321'],
  ['11/98765-4321', '11987654321'],
])('%j is %s: nothing is glued to a number', (sent, digits) => {
  expect(readTelephone(sent)).toBe(digits);
});
