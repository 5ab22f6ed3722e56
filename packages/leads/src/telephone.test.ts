import parsePhoneNumber from 'libphonenumber-js/max';
import { expect, test } from 'vitest';
import { isInternational, isPhoneCountry, phoneKey, readTelephone } from './identity.ts';

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

const MASKS = ['+55', '+55 ', '(__) _____-____', '-', '+55 (__) _____-____', '---', '(  )     -'];

test.each([...MASKS, '(11) _____-____', '+55 11 9____-____', '🇧🇷 +55', '#'])(
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
  ['+5511987650007.0', '5511987650007'],
  ['+55 (+55) 11 98765-0007', '5511987650007'],
  ['+55 (0xx11) 98765-4321', '55011987654321'],
])('%j is %s: nothing is glued to a number', (sent, digits) => {
  expect(readTelephone(sent)).toBe(digits);
});

test('a number that is Brazilian in full has the key that libphonenumber gives it', () => {
  // All that decides it: area code, the two digits after it, and how many follow.
  for (let area = 10; area <= 99; area++)
    for (let next = 0; next <= 99; next++)
      for (const rest of ['876543', '8765432']) {
        const national = `${area}${String(next).padStart(2, '0')}${rest}`;
        const known = parsePhoneNumber(national, { defaultCountry: 'BR', extract: false });
        // Renumbered in 2016: the key of eight digits that begin so has a ninth.
        const isInFull =
          known?.isValid() === true &&
          known.nationalNumber === national &&
          !/^..[6-9]\d{7}$/.test(national);
        const forms = [
          { digits: national, international: false },
          { digits: `55${national}`, international: false },
          { digits: `55${national}`, international: true },
        ];
        for (const { digits, international } of forms) {
          const key = phoneKey(digits, { country: 'BR', international });
          expect(key === `+55${national}`, digits).toBe(isInFull);
        }
      }
});

test.each([
  ['+55 5511987650007', 'BR', '+5511987650007'],
  ['55 55 11 98765-0007', 'BR', '+5511987650007'],
  ['+55 55 98765-0007', 'BR', '+5555987650007'],
  ['+351 351912345678', 'PT', '+351912345678'],
  ['+52 044 55 1234 5678', 'MX', '+525512345678'],
  ['+52 01 55 1234 5678', 'MX', '+525512345678'],
  ['+52 1 55 1234 5678', 'BR', '+525512345678'],
])('a code or mark more before %s is no part of it', (sent, country, key) => {
  const international = isInternational(sent);
  expect(phoneKey(sent.replace(/\D/g, ''), { country, international })).toBe(key);
});
