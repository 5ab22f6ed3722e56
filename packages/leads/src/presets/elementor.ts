import type { Preset } from './preset.ts';
import { byLabel, marksIn } from './preset.ts';

const typed = (type: string) => `$.fields[?@.type == '${type}'].value`;

/** Action Webhook of Elementor Pro, with Advanced Data (fields by their ids) and without (by their labels). */
export const elementor: Preset = {
  rules: {
    ...withEither(byLabel('$.fields', '.value'), byLabel()),
    email: [typed('email'), ...byLabel('$.fields', '.value').email, ...byLabel().email],
    telephone: [typed('tel'), ...byLabel('$.fields', '.value').telephone, ...byLabel().telephone],
    ...withEither(marksIn('$.fields', '.value'), marksIn('$')),
    'attribution.landingPage': ['$.meta.page_url.value'],
  },
  rest: 'custom-fields',
};

function withEither<F extends string>(
  first: Record<F, string[]>,
  second: Record<F, string[]>,
): Record<F, string[]> {
  const fields = Object.keys(first) as F[];
  return Object.fromEntries(
    fields.map((field) => [field, [...first[field], ...second[field]]]),
  ) as Record<F, string[]>;
}
