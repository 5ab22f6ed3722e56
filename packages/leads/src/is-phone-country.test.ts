import { expect, test } from 'vitest';
import { isPhoneCountry } from './is-phone-country.ts';

test.each(['BR', 'PT', 'US'])('the phones of %s are known', (country) => {
  expect(isPhoneCountry(country)).toBe(true);
});

test.each(['br', 'BRA', 'ZZ', '', 'toString', '55'])('%j is no country of phones', (text) => {
  expect(isPhoneCountry(text)).toBe(false);
});
