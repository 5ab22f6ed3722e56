import type { Preset } from './preset.ts';

/** The answer of Google's form to one of its questions. */
const google = (columnId: string) =>
  `$.user_column_data[?@.column_id == '${columnId}'].string_value`;

/**
 * Webhook of a lead form of Google Ads. Its id is that of the lead in exports too.
 * https://developers.google.com/google-ads/webhook/docs/implementation
 */
export const googleLeadForm: Preset = {
  rules: {
    email: [google('EMAIL'), google('WORK_EMAIL')],
    name: [google('FULL_NAME')],
    firstName: [google('FIRST_NAME')],
    lastName: [google('LAST_NAME')],
    telephone: [google('PHONE_NUMBER'), google('WORK_PHONE')],
    profession: [google('JOB_TITLE')],
    city: [google('CITY')],
    state: [google('REGION')],
    'address.street': [google('STREET_ADDRESS')],
    'address.zipCode': [google('POSTAL_CODE')],
    'address.country': [google('COUNTRY')],
    'attribution.gclid': ['$.gcl_id'],
    externalId: ['$.lead_id'],
    test: ['$.is_test'],
  },
  proof: { way: 'body', key: 'google_key' },
};
