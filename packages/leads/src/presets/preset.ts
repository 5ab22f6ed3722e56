import type { LinkMapping, LinkProofView } from '@leadgate/contract';

/** How the bodies of one sender are read, as it documents them. */
export interface Preset extends Pick<LinkMapping, 'rules' | 'rows' | 'rest'> {
  /** How it proves to be it, if it can. */
  proof?: LinkProofView;
}

/** What people call the fields of a form, in Portuguese, English and Spanish. */
const LABELS = {
  email: [
    'email',
    'Email',
    'E-mail',
    'e-mail',
    'EMAIL',
    'E-MAIL',
    'Seu e-mail',
    'Your email',
    'Email Address',
    'your-email',
    'your_email',
    'email_address',
    'Correo electrónico',
    'Correo',
  ],
  name: [
    'name',
    'Name',
    'nome',
    'Nome',
    'NOME',
    'Nome completo',
    'Nome Completo',
    'Seu nome',
    'Full Name',
    'Full name',
    'Your name',
    'your-name',
    'your_name',
    'full_name',
    'nome_completo',
    'Nombre',
    'nombre',
    'Nombre completo',
  ],
  firstName: [
    'First Name',
    'First name',
    'first_name',
    'first-name',
    'firstName',
    'Primeiro nome',
    'Primeiro Nome',
  ],
  lastName: [
    'Last Name',
    'Last name',
    'last_name',
    'last-name',
    'lastName',
    'Sobrenome',
    'sobrenome',
    'Apellido',
  ],
  telephone: [
    'telephone',
    'phone',
    'Phone',
    'Phone Number',
    'Phone number',
    'phone_number',
    'telefone',
    'Telefone',
    'TELEFONE',
    'Celular',
    'celular',
    'WhatsApp',
    'Whatsapp',
    'whatsapp',
    'WHATSAPP',
    'Seu WhatsApp',
    'Telefone com DDD',
    'Telefone / WhatsApp',
    'your-tel',
    'your-phone',
    'Your phone',
    'tel',
    'Teléfono',
    'Móvil',
  ],
  document: ['CPF', 'cpf', 'CNPJ', 'cnpj', 'CPF/CNPJ', 'document', 'Documento'],
  profession: [
    'Profissão',
    'profissao',
    'Cargo',
    'cargo',
    'profession',
    'Job Title',
    'Job title',
    'job_title',
  ],
  city: ['city', 'City', 'cidade', 'Cidade', 'CIDADE', 'Ciudad'],
  state: ['state', 'State', 'estado', 'Estado', 'UF', 'uf'],
  'address.zipCode': ['CEP', 'cep', 'zip', 'zip_code', 'Zip Code', 'Código postal'],
} as const;

/** The marks of an ad, as hidden fields of a form hold them. */
const MARKS = {
  utmSource: 'utm_source',
  utmMedium: 'utm_medium',
  utmCampaign: 'utm_campaign',
  utmContent: 'utm_content',
  utmTerm: 'utm_term',
  'attribution.gclid': 'gclid',
  'attribution.gbraid': 'gbraid',
  'attribution.wbraid': 'wbraid',
  'attribution.fbclid': 'fbclid',
  'attribution.fbc': 'fbc',
  'attribution.fbp': 'fbp',
  'attribution.ttclid': 'ttclid',
  'attribution.msclkid': 'msclkid',
} as const;

const quoted = (names: readonly string[]): string => names.map((name) => `'${name}'`).join(', ');
const eachOf = <T extends object, V>(of: T, make: (value: T[keyof T & string]) => V) =>
  Object.fromEntries(
    Object.entries(of).map(([field, value]) => [field, make(value as T[keyof T & string])]),
  ) as Record<keyof T & string, V>;

/** Answers below an object under the labels of their fields; `then`: what follows a label, `before`: what begins it. */
export const byLabel = (object = '$', then = '', before = '') =>
  eachOf(LABELS, (names: readonly string[]) => [
    `${object}[${quoted(names.map((name) => before + name))}]${then}`,
  ]);

/** Answers of a list of fields that have their label in one member and their value in another; `only`: of these. */
export const byLabelIn = (list: string, label: string, value: string, only: string) =>
  eachOf(LABELS, (names: readonly string[]) => [
    `${list}[?(${names.map((name) => `@.${label} == '${name}'`).join(' || ')}) && ${only}].${value}`,
  ]);

/** Marks below an object, by their names, as `byLabel`. */
export const marksIn = (object: string, then = '', before = '') =>
  eachOf(MARKS, (name: string) => [`${object}[${quoted([before + name])}]${then}`]);

/** Marks of a list of fields, by their names. */
export const marksInList = (list: string, label: string, value: string) =>
  eachOf(MARKS, (name: string) => [`${list}[?@.${label} == '${name}'].${value}`]);

/** Both queries of each field, in this order. */
export function withEither<F extends string>(
  first: Record<F, string[]>,
  second: Record<F, string[]>,
): Record<F, string[]> {
  const fields = Object.keys(first) as F[];
  return Object.fromEntries(
    fields.map((field) => [field, [...first[field], ...second[field]]]),
  ) as Record<F, string[]>;
}
