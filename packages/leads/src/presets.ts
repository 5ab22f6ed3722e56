import type { LinkMapping } from '@leadgate/contract';

/** The answer of Google's form to one of its questions. */
const google = (columnId: string) => [
  `$.user_column_data[?@.column_id == '${columnId}'].string_value`,
];
/** The answer to a question of this kind, of Typeform. */
const typeform = (type: string, key = type) =>
  `$.form_response.answers[?@.type == '${type}'].${key}`;
/** What a form calls a question, below one object. */
const labels = (object: string, ...names: string[]) => names.map((name) => `${object}['${name}']`);

const hidden = (object: string) => ({
  utmSource: [`${object}.utm_source`],
  utmMedium: [`${object}.utm_medium`],
  utmCampaign: [`${object}.utm_campaign`],
  utmContent: [`${object}.utm_content`],
  utmTerm: [`${object}.utm_term`],
  'attribution.gclid': [`${object}.gclid`],
  'attribution.fbclid': [`${object}.fbclid`],
});

/** Rules for senders, by name, as they document their bodies. */
export const PRESETS = {
  'google-lead-form': {
    email: [...google('EMAIL'), ...google('WORK_EMAIL')],
    name: google('FULL_NAME'),
    firstName: google('FIRST_NAME'),
    lastName: google('LAST_NAME'),
    telephone: [...google('PHONE_NUMBER'), ...google('WORK_PHONE')],
    profession: google('JOB_TITLE'),
    city: google('CITY'),
    state: google('REGION'),
    'address.street': google('STREET_ADDRESS'),
    'address.zipCode': google('POSTAL_CODE'),
    'address.country': google('COUNTRY'),
    'attribution.gclid': ['$.gcl_id'],
  },
  typeform: {
    email: [typeform('email')],
    telephone: [typeform('phone_number')],
    ...hidden('$.form_response.hidden'),
  },
  webflow: {
    email: labels('$.payload.data', 'email', 'Email', 'E-mail', 'Email Address'),
    name: labels('$.payload.data', 'name', 'Name', 'Nome', 'Nome completo', 'Full Name'),
    firstName: labels('$.payload.data', 'First Name', 'Primeiro nome'),
    lastName: labels('$.payload.data', 'Last Name', 'Sobrenome'),
    telephone: labels('$.payload.data', 'Phone Number', 'Phone', 'phone', 'Telefone', 'WhatsApp'),
  },
} satisfies Record<string, LinkMapping['rules']>;

export const PRESET_NAMES = Object.keys(PRESETS) as (keyof typeof PRESETS)[];
