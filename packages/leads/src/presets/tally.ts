import type { Preset } from './preset.ts';
import { byLabelIn, marksInList } from './preset.ts';

const FIELDS = '$.data.fields';
const typed = (type: string) => `${FIELDS}[?@.type == '${type}'].value`;
const labelled = byLabelIn(FIELDS, 'label', 'value');

/** Webhook of Tally: https://tally.so/help/webhooks */
export const tally: Preset = {
  rules: {
    ...labelled,
    email: [typed('INPUT_EMAIL'), ...labelled.email],
    telephone: [typed('INPUT_PHONE_NUMBER'), ...labelled.telephone],
    ...marksInList(FIELDS, 'label', 'value'),
    externalId: ['$.data.responseId'],
  },
  proof: { way: 'hmac', header: 'tally-signature', encoding: 'base64' },
};
