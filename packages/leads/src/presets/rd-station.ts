import type { Preset } from './preset.ts';

const either = (field: string) => [`$.contact.${field}`, `$.${field}`];

/**
 * Webhook of conversions of RD Station Marketing: the present one with one `contact`, and the first one
 * with a list `leads`.
 * https://developers.rdstation.com/reference/webhooks-payload-copy
 */
export const rdStation: Preset = {
  rows: '$.leads',
  rules: {
    email: either('email'),
    name: either('name'),
    telephone: [...either('mobile_phone'), ...either('personal_phone')],
    profession: either('job_title'),
    city: either('city'),
    state: either('state'),
    utmSource: ['$.last_conversion.conversion_origin.source'],
    utmMedium: ['$.last_conversion.conversion_origin.medium'],
    utmCampaign: ['$.last_conversion.conversion_origin.campaign'],
  },
};
