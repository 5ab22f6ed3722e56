import { Type, type Static } from 'typebox';

/** Standard text fields of a lead, by the names they have in a posted body. */
export const LEAD_FIELDS = [
  'email',
  'name',
  'telephone',
  'document',
  'profession',
  'city',
  'state',
  'instagram',
  'birthday',
] as const;

/** Subfields of `address`. */
export const ADDRESS_FIELDS = [
  'street',
  'number',
  'complement',
  'neighborhood',
  'city',
  'state',
  'zipCode',
  'country',
] as const;

/** The five marks of a campaign. They are of a touch, which is written as a whole or not at all. */
export const UTM_FIELDS = [
  'utmSource',
  'utmMedium',
  'utmCampaign',
  'utmContent',
  'utmTerm',
] as const;

/** What ad platforms need back to count a conversion. `fbp` names a browser and no click. */
export const CLICK_IDS = [
  'gclid',
  'gbraid',
  'wbraid',
  'fbclid',
  'fbc',
  'fbp',
  'ttclid',
  'msclkid',
  'liFatId',
  'twclid',
] as const;

/** What a touch says of a click, beside its utm fields. */
export const ATTRIBUTION_FIELDS = [...CLICK_IDS, 'landingPage', 'referrer', 'clickedAt'] as const;

export type ClickId = (typeof CLICK_IDS)[number];
export type AttributionField = (typeof ATTRIBUTION_FIELDS)[number];

export type LeadField = (typeof LEAD_FIELDS)[number];
export type AddressField = (typeof ADDRESS_FIELDS)[number];
export type UtmField = (typeof UTM_FIELDS)[number];

/** A standard field by its path: what wins or loses by itself when a submission is applied. */
export type FieldPath = LeadField | `address.${AddressField}`;

const text = (description: string) => Type.Optional(Type.String({ description }));

const CustomValue = Type.Union([
  Type.String(),
  Type.Number(),
  Type.Boolean(),
  Type.Array(Type.String()),
]);

const Attribution = Type.Object(
  {
    ...(Object.fromEntries(
      CLICK_IDS.map((id) => [id, text('As the ad platform gave it.')]),
    ) as Record<ClickId, ReturnType<typeof text>>),
    landingPage: text('The address of the page that the click led to.'),
    referrer: text('The address of the page before it.'),
    clickedAt: text('ISO 8601, UTC.'),
  },
  { additionalProperties: false },
);
export type Attribution = Static<typeof Attribution>;

/**
 * A lead as normalised: every text trimmed and in NFC, every absent field absent. Never holds null
 * or an empty text.
 */
export const Lead = Type.Object(
  {
    email: text('Lower-cased, with plus-tags and dots kept.'),
    name: text('As typed.'),
    telephone: text('Digits only, as sent: 8 to 15 of them.'),
    document: text('CPF (11 digits) or CNPJ (14 characters), without punctuation.'),
    profession: text('As typed.'),
    city: text('As typed.'),
    state: text('A UF where the text names a Brazilian state, else as typed.'),
    instagram: text('The handle, without @ and without the profile address.'),
    birthday: text('YYYY-MM-DD, a calendar date without a time zone.'),
    address: Type.Optional(
      Type.Object(
        Object.fromEntries(ADDRESS_FIELDS.map((f) => [f, text('As typed.')])) as Record<
          AddressField,
          ReturnType<typeof text>
        >,
        { additionalProperties: false },
      ),
    ),
    utmSource: text('Traffic source.'),
    utmMedium: text('Campaign medium.'),
    utmCampaign: text('Campaign name.'),
    utmContent: text('Ad or creative variation.'),
    utmTerm: text('Term or keyword.'),
    attribution: Type.Optional(Attribution),
    customFields: Type.Optional(
      Type.Record(Type.String(), CustomValue, {
        description: 'Values by the custom field’s id, name or label, as sent.',
      }),
    ),
    otherKeys: Type.Optional(
      Type.Record(Type.String(), CustomValue, {
        description:
          'What a form says beside a lead’s fields: of a custom field, if the key is its exact name.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type Lead = Static<typeof Lead>;
export type CustomValue = Static<typeof CustomValue>;

/** Where a lead came from: one group, never mixed with that of another submission. */
export type Touch = Pick<Lead, UtmField | 'attribution'>;
