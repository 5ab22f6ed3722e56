import type { Preset } from './preset.ts';
import { byLabel, marksIn } from './preset.ts';

/**
 * Webhook `form_submission` of Webflow (API v2):
 * https://developers.webflow.com/data/reference/all-events
 */
export const webflow: Preset = {
  rules: {
    ...byLabel('$.payload.data'),
    ...marksIn('$.payload.data'),
    externalId: ['$.payload.id'],
  },
  proof: {
    way: 'hmac',
    header: 'x-webflow-signature',
    encoding: 'hex',
    timestampHeader: 'x-webflow-timestamp',
  },
};
