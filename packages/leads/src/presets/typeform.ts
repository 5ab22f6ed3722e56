import type { Preset } from './preset.ts';
import { marksIn } from './preset.ts';

/** The answer to a question of this kind. */
const answer = (type: string) => `$.form_response.answers[?@.type == '${type}'].${type}`;
/** The answer to the question whose reference is one of these: a text does not say what it is. */
const referred = (...refs: string[]) =>
  `$.form_response.answers[?${refs.map((ref) => `@.field.ref == '${ref}'`).join(' || ')}].text`;
const chosen = (...refs: string[]) => referred(...refs).replace(/text$/, 'choice.label');

/**
 * Webhook of Typeform. A question for the name has the reference `name` (or first_name, last_name).
 * https://www.typeform.com/developers/webhooks/example-payload/
 */
export const typeform: Preset = {
  rules: {
    email: [answer('email')],
    telephone: [answer('phone_number')],
    name: [referred('name', 'nome', 'full_name', 'nome_completo'), '$.form_response.hidden.name'],
    firstName: [referred('first_name', 'primeiro_nome')],
    lastName: [referred('last_name', 'sobrenome')],
    city: [referred('city', 'cidade'), chosen('city', 'cidade')],
    state: [referred('state', 'estado', 'uf'), chosen('state', 'estado', 'uf')],
    document: [referred('document', 'cpf', 'cnpj')],
    ...marksIn('$.form_response.hidden'),
    externalId: ['$.form_response.token'],
  },
  proof: { way: 'hmac', header: 'typeform-signature', encoding: 'base64', prefix: 'sha256=' },
};
