import type { Preset } from './preset.ts';
import { byLabelIn, marksInList } from './preset.ts';

const FIELDS = '$.data.fields';
/** The value of a choice is the ids of its options, which say nothing to a person. */
const WORDS = ['INPUT_TEXT', 'INPUT_EMAIL', 'INPUT_PHONE_NUMBER', 'HIDDEN_FIELDS'];
const labelled = byLabelIn(
  FIELDS,
  'label',
  'value',
  `(${WORDS.map((type) => `@.type == '${type}'`).join(' || ')})`,
);

/**
 * Webhook of Tally. https://tally.so/help/webhooks (payload, signature),
 * https://developers.tally.so/api-reference/endpoint/webhooks/post (signing secret).
 */
export const tally: Preset = {
  rules: {
    ...labelled,
    email: [typed(FIELDS, 'INPUT_EMAIL'), ...labelled.email],
    telephone: [typed(FIELDS, 'INPUT_PHONE_NUMBER'), ...labelled.telephone],
    ...marksInList(FIELDS, 'label', 'value'),
    externalId: ['$.data.responseId'],
  },
  proof: { way: 'hmac', header: 'tally-signature', encoding: 'base64' },
};
