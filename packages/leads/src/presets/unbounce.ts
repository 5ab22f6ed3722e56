import type { Preset } from './preset.ts';
import { byLabel, marksIn, withEither } from './preset.ts';

const FORM = "$['data.json']";

/**
 * Webhook of Unbounce: lists of answers by the names of fields, as JSON, or in the field `data.json` of a form.
 * https://documentation.unbounce.com/hc/en-us/articles/203510044-Using-a-Webhook
 */
export const unbounce: Preset = {
  rules: {
    ...withEither(byLabel(FORM, '[0]'), byLabel('$', '[0]')),
    ...withEither(marksIn(FORM, '[0]'), marksIn('$', '[0]')),
    'attribution.landingPage': ['$.page_url[0]', '$.page_url'],
  },
};
