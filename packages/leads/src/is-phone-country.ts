import { isSupportedCountry } from 'libphonenumber-js/max';

/** Whether a text is the code of a country (ISO 3166-1 alpha-2, upper case) whose phones are known. */
export function isPhoneCountry(text: string): boolean {
  return isSupportedCountry(text);
}
