import type { Preset } from './preset.ts';
import { marksIn } from './preset.ts';

/** Jotform names a question by its place in the form and its kind or label: q3_name, q4_email4. */
const QUESTIONS = 20;
const asked = (...names: string[]) => {
  const keys = Array.from({ length: QUESTIONS }, (_, i) =>
    names.map((name) => `'q${i + 1}_${name}'`),
  );
  return `$.rawRequest[${keys.flat().join(',')}]`;
};

/**
 * Webhook of Jotform: a multipart form whose field `rawRequest` holds the answers as JSON.
 * https://www.jotform.com/help/245-how-to-setup-a-webhook-with-jotform/
 */
export const jotform: Preset = {
  rules: {
    email: [asked('email'), asked('eMail'), asked('seuEmail')],
    firstName: ['$.rawRequest.*.first'],
    lastName: ['$.rawRequest.*.last'],
    name: [asked('nome', 'nomeCompleto'), asked('fullName')],
    telephone: [
      '$.rawRequest.*.full',
      { query: "$.rawRequest.*['area', 'phone']", join: true },
      asked('telefone', 'whatsapp'),
      asked('celular'),
    ],
    'address.street': ['$.rawRequest.*.addr_line1'],
    'address.complement': ['$.rawRequest.*.addr_line2'],
    'address.zipCode': ['$.rawRequest.*.postal'],
    city: ['$.rawRequest.*.city'],
    state: ['$.rawRequest.*.state'],
    ...marksIn('$.rawRequest'),
    externalId: ['$.submissionID'],
  },
};
