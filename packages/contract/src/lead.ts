import { type Static, Type } from 'typebox';

/**
 * What a person agreed to, or did not, as the form says it. When, on which page, from where and with
 * which browser stands with the submission that it came in.
 */
export const Consent = Type.Object(
  {
    given: Type.Boolean(),
    text: Type.Optional(Type.String({ description: 'The words that were agreed to.' })),
    textVersion: Type.Optional(Type.String({ description: 'The name of those words.' })),
    language: Type.Optional(Type.String({ description: 'Of those words, as a BCP 47 tag.' })),
  },
  { additionalProperties: false },
);
export type Consent = Static<typeof Consent>;

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

/** The types a custom field can have. Not changed once the field holds values. */
export const CUSTOM_FIELD_TYPES = [
  'text',
  'number',
  'boolean',
  'date',
  'select',
  'multi-select',
] as const;
export type CustomFieldType = (typeof CUSTOM_FIELD_TYPES)[number];

/** A custom field of a workspace, as the worker resolves keys and values against it. */
export interface CustomField {
  id: string;
  workspaceId: string;
  name: string;
  label: string;
  type: CustomFieldType;
  /** The values a select or multi-select takes, in the order shown. */
  options: string[];
  /** An archived field keeps its values and takes no new ones. */
  archived: boolean;
}

/** What the service did to a value, by code. Never an error to the sender. */
export const NOTE_CODES = {
  'unknown-key': 'The key is not a field of a lead; it was ignored.',
  'unknown-keys-dropped': 'The unknown keys said more than 8 KiB; those beyond are not kept.',
  'set-aside': 'The value was refused; the rest of the lead was accepted (lenient).',
  cut: 'The value was longer than allowed and was cut.',
  'html-entities': 'Characters were sent as HTML writes them; they are what they stand for.',
  'first-of-several': 'Several values were sent for one field; the first counts.',
  'nothing-recognised':
    'No key of the body is a field of a lead, or its mapping found nothing; it was accepted without facts.',
  'not-utf-8': 'The body was not UTF-8 and did not say so; it was read as windows-1252.',
  'file-dropped': 'A file was sent with the form; it was not kept.',
  'check-digits': 'The check digits of the document are wrong; it was kept.',
  'placeholder-phone': 'No person has this phone: one repeated digit, or no number of any plan.',
  'shared-phone':
    'Its lead has three emails or more: the phone may be nobody’s. leadgate lead split takes it apart.',
  'dummy-phone': 'The workspace says that this phone identifies nobody; it was kept and is no key.',
  'too-many-identities': 'The lead has as many identities as it may; this one was not remembered.',
  'not-matched':
    'Its sender brought too many known people together; this one was kept and identifies nobody.',
  'unknown-custom-field': 'No custom field has this id, name or label; it was ignored.',
  'ambiguous-custom-field': 'More than one custom field has this label; it was ignored.',
  'top-level-custom-field':
    'The key stood at the top level of a form and is the name of a custom field; it was taken.',
  'overridden-custom-field': 'Another key of the same body names the same custom field and wins.',
  'invalid-custom-value': 'The custom field cannot take this value; it was ignored.',
  'captcha-unchecked': 'The CAPTCHA could not be checked; the link takes such leads.',
  'key-of-another-body':
    'The idempotency key belongs to another body; it was accepted all the same.',
} as const;
export type NoteCode = keyof typeof NOTE_CODES;

export const Note = Type.Object(
  {
    field: Type.String({ description: 'JSON pointer (RFC 6901) into the body as sent.' }),
    code: Type.Unsafe<NoteCode>(Type.Enum(Object.keys(NOTE_CODES))),
    detail: Type.Optional(Type.String({ description: 'Never holds the value itself.' })),
  },
  { additionalProperties: false },
);
export type Note = Static<typeof Note>;

export const LEAD_EVENTS = ['lead.created', 'lead.updated', 'lead.merged', 'lead.erased'] as const;
export type LeadEventType = (typeof LEAD_EVENTS)[number];

/** What is told of what somebody should look at. */
const ALARM_EVENTS = ['alarm.opened', 'alarm.closed'] as const;

/** What endpoints can ask to be told of. */
export const ENDPOINT_EVENTS = [...LEAD_EVENTS, ...ALARM_EVENTS] as const;
export type EndpointEvent = (typeof ENDPOINT_EVENTS)[number];
