import { Type } from 'typebox';
import {
  ADDRESS_FIELDS,
  LEAD_FIELDS,
  UTM_FIELDS,
  type LeadField,
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
    address: Type.Optional(
      Type.Unsafe<unknown>({
        type: ['object', 'null'],
        properties: Object.fromEntries(ADDRESS_FIELDS.map((name) => [name, field(name)])),
      }),
    ),
    ...fields(UTM_FIELDS),
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
          'Kept with the submission, with the time, page and sender, and never changed. Given only where `given` says so.',
        properties: {
          given: { type: ['boolean', 'string', 'null'] },
          text: { type: ['string', 'null'], maxLength: 10_000 },
          textVersion: { type: ['string', 'integer', 'null'], maxLength: 200 },
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
