import type { Preset } from './preset.ts';
import { byLabel, marksIn, withEither } from './preset.ts';

const typed = (type: string) => `$.fields[?@.type == '${type}'].value`;

/**
 * Action Webhook of Elementor Pro, with Advanced Data (fields by their ids) and without (by their labels):
 * https://elementor.com/help/form-widget/ and what a form's record holds,
 * https://developers.elementor.com/docs/forms/.
 */
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
