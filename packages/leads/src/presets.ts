import type { LinkMapping, LinkProofView } from '@leadgate/contract';

/** How the bodies of one sender are read, as it documents them. */
interface Preset extends Pick<LinkMapping, 'rules' | 'rows' | 'rest'> {
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
const byLabel = (object = '$', then = '', before = '') =>
  eachOf(LABELS, (names: readonly string[]) => [
    `${object}[${quoted(names.map((name) => before + name))}]${then}`,
  ]);

/** Answers of a list of fields that have their label in one member and their value in another; `only`: of these. */
const byLabelIn = (list: string, label: string, value: string, only: string) =>
  eachOf(LABELS, (names: readonly string[]) => [
    `${list}[?(${names.map((name) => `@.${label} == '${name}'`).join(' || ')}) && ${only}].${value}`,
  ]);

/** Marks below an object, by their names, as `byLabel`. */
const marksIn = (object: string, then = '', before = '') =>
  eachOf(MARKS, (name: string) => [`${object}[${quoted([before + name])}]${then}`]);

/** Marks of a list of fields, by their names. */
const marksInList = (list: string, label: string, value: string) =>
  eachOf(MARKS, (name: string) => [`${list}[?@.${label} == '${name}'].${value}`]);

/** Both queries of each field, in this order. */
function withEither<F extends string>(
  first: Record<F, string[]>,
  second: Record<F, string[]>,
): Record<F, string[]> {
  const fields = Object.keys(first) as F[];
  return Object.fromEntries(
    fields.map((field) => [field, [...first[field], ...second[field]]]),
  ) as Record<F, string[]>;
}

/** The answer of Google's form to one of its questions. */
const google = (columnId: string) =>
  `$.user_column_data[?@.column_id == '${columnId}'].string_value`;

/**
 * Webhook of a lead form of Google Ads. Its id is that of the lead in exports too.
 * https://developers.google.com/google-ads/webhook/docs/implementation
 */
const googleLeadForm: Preset = {
  rules: {
    email: [google('EMAIL'), google('WORK_EMAIL')],
    name: [google('FULL_NAME')],
    firstName: [google('FIRST_NAME')],
    lastName: [google('LAST_NAME')],
    telephone: [google('PHONE_NUMBER'), google('WORK_PHONE')],
    profession: [google('JOB_TITLE')],
    city: [google('CITY')],
    state: [google('REGION')],
    'address.street': [google('STREET_ADDRESS')],
    'address.zipCode': [google('POSTAL_CODE')],
    'address.country': [google('COUNTRY')],
    'attribution.gclid': ['$.gcl_id'],
    externalId: ['$.lead_id'],
    test: ['$.is_test'],
  },
  proof: { way: 'body', key: 'google_key' },
};

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
const typeform: Preset = {
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

const typed = (list: string, type: string) => `${list}[?@.type == '${type}'].value`;
const [english, portuguese] = ['No Label ', 'Sem rótulo '];
const advanced = byLabel('$.fields', '.value');
const labels = withEither(
  byLabel(),
  withEither(byLabel('$', '', english), byLabel('$', '', portuguese)),
);

/**
 * Action Webhook of Elementor Pro, a form. With Advanced Data: `form`, `fields` by their ids (type, title, value,
 * raw_value) and `meta`. Without: values by the labels of fields; what has no label is `No Label` and its id, in the
 * site's language. The page is in it only if the form sends an email with that metadata.
 * https://github.com/elementor/elementor/issues/3389 (by labels), /27399 (without labels), /11086 (metadata);
 * `get_formatted_data` in Elementor Pro's modules/forms/classes/form-record.php, `run` in actions/webhook.php.
 */
const elementor: Preset = {
  rules: {
    ...withEither(advanced, labels),
    email: [typed('$.fields', 'email'), ...advanced.email, ...labels.email],
    telephone: [typed('$.fields', 'tel'), ...advanced.telephone, ...labels.telephone],
    ...withEither(
      marksIn('$.fields', '.value'),
      withEither(marksIn('$'), withEither(marksIn('$', '', english), marksIn('$', '', portuguese))),
    ),
    'attribution.landingPage': ['$.meta.page_url.value', "$['Page URL']"],
  },
  rest: 'custom-fields',
};

/**
 * Webhook `form_submission` of Webflow (API v2):
 * https://developers.webflow.com/data/reference/all-events
 */
const webflow: Preset = {
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
const tally: Preset = {
  rules: {
    ...labelled,
    email: [typed(FIELDS, 'INPUT_EMAIL'), ...labelled.email],
    telephone: [typed(FIELDS, 'INPUT_PHONE_NUMBER'), ...labelled.telephone],
    ...marksInList(FIELDS, 'label', 'value'),
    externalId: ['$.data.responseId'],
  },
  proof: { way: 'hmac', header: 'tally-signature', encoding: 'base64' },
};

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
const jotform: Preset = {
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

/**
 * Forms of WordPress that send their fields by name at the top.
 *
 * Contact Form 7 through CF7 to Webhook: JSON of the form's tags by their names, or by the option `webhook:` of a tag.
 * https://github.com/mariovalney/cf7-to-zapier (README, modules/cf7/class-module-cf7.php)
 *
 * WPForms' Webhooks addon, as JSON or as a form: the keys that its Request Body names, each with the value of a field
 * or a text with smart tags, `{entry_id}` among them; a date is an object (`value`, `unix`). Its Process class,
 * `fill_http_body_params`; https://wpforms.com/docs/how-to-install-and-use-the-webhooks-addon-with-wpforms/
 */
const byName: Preset = { rules: { ...byLabel(), ...marksIn('$') }, rest: 'custom-fields' };

const contactForm7: Preset = byName;
const wpforms: Preset = {
  ...byName,
  rules: { ...byName.rules, externalId: ['$.entry_id'] },
};

const either = (field: string) => [`$.contact.${field}`, `$.${field}`];

/**
 * Webhook of conversions of RD Station Marketing: the present one with one `contact`, and the first one
 * with a list `leads`.
 * https://developers.rdstation.com/reference/webhooks-payload-copy
 */
const rdStation: Preset = {
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

const FORM = "$['data.json']";

/**
 * Webhook of Unbounce: lists of answers by the names of fields, as JSON, or in the field `data.json` of a form.
 * https://documentation.unbounce.com/hc/en-us/articles/203510044-Using-a-Webhook
 */
const unbounce: Preset = {
  rules: {
    ...withEither(byLabel(FORM, '[0]'), byLabel('$', '[0]')),
    ...withEither(marksIn(FORM, '[0]'), marksIn('$', '[0]')),
    'attribution.landingPage': ['$.page_url[0]', '$.page_url'],
  },
};

/** The rules for a sender, by its name. Each has bodies of its sender under `samples`. */
export const PRESETS = {
  'google-lead-form': googleLeadForm,
  typeform,
  elementor,
  webflow,
  tally,
  jotform,
  'contact-form-7': contactForm7,
  wpforms,
  'rd-station': rdStation,
  unbounce,
} satisfies Record<string, Preset>;

export const PRESET_NAMES = Object.keys(PRESETS) as (keyof typeof PRESETS)[];

/** The mapping of a preset, as a link holds it. */
export function presetMapping(name: keyof typeof PRESETS): LinkMapping {
  const { rules, rows, rest }: Preset = PRESETS[name];
  return {
    ...{ preset: name, rules },
    ...(rows !== undefined && { rows }),
    ...(rest !== undefined && { rest }),
  };
}

/** How a sender proves to be it; null if it cannot. */
export const presetProof = (name: keyof typeof PRESETS): LinkProofView | null => {
  const { proof }: Preset = PRESETS[name];
  return proof ?? null;
};
