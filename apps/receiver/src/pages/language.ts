import { acceptedValues } from './accepted-values.ts';

export const LANGUAGES = ['pt', 'en', 'es'] as const;
export type Language = (typeof LANGUAGES)[number];

/**
 * The language of ours that a visitor likes best by Accept-Language (RFC 9110, 12.5.4), whatever the
 * region; Portuguese where it names none of ours.
 */
export function chooseLanguage(header: string | undefined): Language {
  for (const { value } of acceptedValues(header)) {
    const language = LANGUAGES.find((one) => one === value.split('-')[0]);
    if (language !== undefined) return language;
  }
  return 'pt';
}
