import type { Preset } from './preset.ts';
import { byLabel, marksIn } from './preset.ts';

/** Webhook of Unbounce: a form whose field `data.json` holds lists of answers by the names of fields. */
export const unbounce: Preset = {
  rules: {
    ...byLabel("$['data.json']", '[0]'),
    ...marksIn("$['data.json']", '[0]'),
    'attribution.landingPage': ['$.page_url'],
  },
};
