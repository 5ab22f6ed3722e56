import { Type } from 'typebox';
import {
  ADDRESS_FIELDS,
  ATTRIBUTION_FIELDS,
  CLICK_IDS,
  LEAD_FIELDS,
  type LeadField,
  LONGEST_EXTERNAL_ID,
  PROBLEMS,
  type Receipt,
  UTM_FIELDS,
  type UtmField,
} from '@leadgate/contract';

/** As a sender may send them; what they become is on the lead in the contract. */
const DESCRIPTIONS: Record<LeadField | UtmField, string> = {
  email: 'Any case; plus-tags are kept.',
  name: 'The full name.',
  telephone:
    'With or without punctuation and country code; without one it is of the workspace’s country.',
  document: 'CPF or CNPJ, with or without punctuation.',
  profession: 'The occupation.',
  city: 'The city.',
  state: 'The UF, or the name of the state.',
  instagram: 'The handle, with or without @ or the profile’s address.',
  birthday: 'YYYY-MM-DD.',
  utmSource: 'Traffic source.',
  utmMedium: 'Campaign medium.',
  utmCampaign: 'Campaign name.',
  utmContent: 'Ad or creative variation.',
  utmTerm: 'Term or keyword.',
};

/** Fields of which an integer is as good as its digits. */
const DIGITS = new Set(['telephone', 'document', 'number', 'zipCode']);

const field = (name: string, description?: string) =>
  Type.Optional(
    Type.Unsafe<unknown>({
      type: DIGITS.has(name) ? ['string', 'integer', 'null'] : ['string', 'null'],
      ...(description !== undefined && { description }),
    }),
  );

const fields = (names: readonly (LeadField | UtmField)[]) =>
  Object.fromEntries(names.map((name) => [name, field(name, DESCRIPTIONS[name])]));

/**
 * The posted lead, for the document only: bodies are normalised first and judged then, which no
 * JSON Schema can say. Nothing is required, null and blank mean "not sent", unknown keys are
 * ignored.
 */
export const LeadBody = Type.Object(
  {
    ...fields(LEAD_FIELDS),
    externalId: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['string', 'integer', 'null'],
        maxLength: LONGEST_EXTERNAL_ID,
        description:
          'The sender’s own id of this submission: on the same link it is the same one for ever, and is answered with the same lead.',
      }),
    ),
    address: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['object', 'null'],
        properties: Object.fromEntries(ADDRESS_FIELDS.map((name) => [name, field(name)])),
      }),
    ),
    ...fields(UTM_FIELDS),
    attribution: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['object', 'null'],
        description:
          'Where the click came from. It is one group with the utm fields, and never mixed with that of another post. Click ids may also stand at the top level.',
        properties: Object.fromEntries(
          ATTRIBUTION_FIELDS.map((name) => [
            name,
            {
              type: ['string', 'integer', 'null'],
              ...(name === 'clickedAt' && { description: 'ISO 8601 with its zone.' }),
            },
          ]),
        ),
      }),
    ),
    ...Object.fromEntries(CLICK_IDS.map((id) => [id, field(id)])),
    customFields: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['object', 'null'],
        description:
          'Up to 100 values by the custom field’s id, name or label. Written when the lead is created. A value that its field cannot take is ignored, never an error.',
        additionalProperties: {
          type: ['string', 'number', 'boolean', 'array', 'null'],
          items: { type: 'string' },
        },
      }),
    ),
    consent: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['object', 'null'],
        description:
          'Kept as proof with the time, page and sender, longer than the submission, and never changed. Given only if `given` says so.',
        properties: {
          given: { type: ['boolean', 'string', 'null'] },
          text: { type: ['string', 'null'], maxLength: 10_000 },
          textVersion: { type: ['string', 'integer', 'null'], maxLength: 200 },
          language: { type: ['string', 'null'], description: 'A BCP 47 tag: pt-BR.' },
        },
      }),
    ),
    _filledMs: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['number', 'string', 'null'],
        description:
          'Milliseconds from the page’s opening to the sending of its form, for links with a minimum. No part of the lead.',
      }),
    ),
    _ageMs: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['number', 'string', 'null'],
        description:
          'Milliseconds since it was filled in, for what was kept until it could be sent: facts of then do not win over newer ones. Up to seven days. No part of the lead.',
      }),
    ),
    _idempotencyKey: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['string', 'null'],
        maxLength: 255,
        description: 'For beacons, which cannot send the header Idempotency-Key.',
      }),
    ),
  },
  {
    $id: 'Lead',
    description:
      'Every field is optional. null, "" and blank text mean "not sent"; unknown keys are ignored.',
    examples: [
      {
        email: 'ana@example.com',
        name: 'Ana',
        telephone: '+55 (11) 98765-4321',
        address: { city: 'Recife', state: 'PE' },
        utmSource: 'google',
        customFields: { plan: 'gold' },
      },
    ],
  },
);

const header = (description: string) => Type.Optional(Type.String({ description }));

/** Problems that a POST cannot meet: another method's, another address's. */
const NOT_OF_A_POST = new Set(['method-not-allowed', 'not-found']);

/** One answer a status, that names the codes it may have. */
function problemAnswers() {
  const codes = new Map<number, string[]>();
  for (const [code, { status }] of Object.entries(PROBLEMS))
    if (!NOT_OF_A_POST.has(code)) codes.set(status, [...(codes.get(status) ?? []), code]);
  return Object.fromEntries(
    [...codes].map(([status, names]) => [
      status,
      {
        description: names.map((name) => `\`${name}\``).join(', '),
        content: { 'application/problem+json': { schema: Type.Ref('Problem') } },
        ...((status === 429 || status === 503) && {
          headers: { 'Retry-After': { type: 'integer', description: 'Seconds.' } },
        }),
      },
    ]),
  );
}

const RECEIPT = {
  description: 'The lead is durable.',
  content: { 'application/json': { schema: Type.Ref('Receipt') } },
  headers: {
    'Submission-Id': { type: 'string', format: 'uuid', description: 'Of this submission.' },
  },
};

export const ingestSchema = {
  operationId: 'postLead',
  summary: 'Send a lead to a capture link',
  description:
    'Creates the lead, or updates the one with the same email or phone. The answer is the same for both. A link whose mapping says where a list of leads stands takes up to 64 of them in a post.',
  consumes: [
    'application/json',
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
  ],
  params: Type.Object({ code: Type.String({ description: 'The code of the capture link.' }) }),
  headers: Type.Object({
    'idempotency-key': header(
      'Up to 255 printable ASCII characters; remembered for 24 hours. The same key with the same body is one submission.',
    ),
    prefer: header('`handling=lenient` sets refused fields aside instead of refusing the lead.'),
  }),
  body: Type.Ref('Lead'),
  response: {
    202: Type.Unsafe<Receipt>(RECEIPT),
    303: Type.Unsafe<never>({
      type: 'null',
      description: 'To the link’s redirect address: a plain HTML form, from a link that has one.',
    }),
    ...problemAnswers(),
  },
};
