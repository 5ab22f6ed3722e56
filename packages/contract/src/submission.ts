import { type Static, Type } from 'typebox';
import type { FieldError } from './problem.ts';

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

/** Why a submission is held, by code. */
export const HELD_REASONS = {
  honeypot: 'The field that no person sees was filled in.',
  'too-quick': 'The form was filled in faster than the link allows.',
  captcha: 'The CAPTCHA was not solved, or the check said no.',
  'captcha-unreachable': 'The CAPTCHA could not be checked.',
  test: 'A test of its sender, by what it says of itself.',
  'key-reused': 'Its idempotency key was used with another body, and its sender told so (422).',
  repeated: 'The same post, under the same idempotency key, was held before.',
} as const;
export type HeldReason = keyof typeof HELD_REASONS;

/** A reason as it was written down; `repeated` for one that this release does not know. */
export const readHeldReason = (text: string): HeldReason =>
  isHeldReason(text) ? text : 'repeated';
const isHeldReason = (text: string): text is HeldReason => Object.hasOwn(HELD_REASONS, text);

/**
 * What makes a submission one that waits for an operator: it has an id and an order, and claims no
 * identity. It is kept beside the submissions and not applied.
 */
export const Held = Type.Object(
  {
    reason: Type.Unsafe<HeldReason>(Type.Enum(Object.keys(HELD_REASONS))),
    keys: Type.Array(Type.String(), { description: 'Identity keys of its lead, email first.' }),
  },
  { additionalProperties: false },
);
export type Held = Static<typeof Held>;

/** What a lead is known again by, and the lead that the reservation says owns it. */
export interface OwnedIdentity {
  /** `email:ana@example.com`, `phone:+5511987654321`, or `external:<link id>:<the sender's id>`. */
  key: string;
  /** Lead id; null if the key was left unowned (the lead has as many identities as it may). */
  owner: string | null;
}

const EXTERNAL = 'external:';

/** The key of a sender's own id of a submission: on its link it is the same submission for ever. */
export const externalKey = (linkId: string, externalId: string): string =>
  `${EXTERNAL}${linkId}:${externalId}`;

/** The sender's own id among the identity keys of a submission; null if it has none. */
export function externalIdOf(identityKeys: readonly string[], linkId: string): string | null {
  const key = identityKeys.find(isExternalKey);
  return key?.slice(externalKey(linkId, '').length) ?? null;
}

/** Such a key names a submission and no person: it is claimed once, and not counted. */
export const isExternalKey = (key: string): boolean => key.startsWith(EXTERNAL);

/** The longest id that a sender may give. */
export const LONGEST_EXTERNAL_ID = 200;

export type BodyType = 'json' | 'form';
/** `withdrawal`: it takes back a consent, and has no value. */
export type SubmissionSource = 'post' | 'import' | 'withdrawal';

/** One accepted POST, imported row or withdrawal of a consent, as reserved. Immutable. */
export interface Submission {
  /** UUIDv7, made before the first Redis call; the same through every retry, spool and drain. */
  id: string;
  workspaceId: string;
  linkId: string;
  leadId: string;
  /** The lead id that was answered, if it is not `leadId` (handed out while Redis was away). */
  answeredLeadId?: string;
  /** Every key of the body: its sender's id of it, the email, the telephone. */
  identities: OwnedIdentity[];
  /** Microseconds since 1970, strictly increasing in a workspace. Decides who created a lead. */
  order: number;
  /** Microseconds since 1970: the time the facts are from. Decides standard fields. At most `order`. */
  stamp: number;
  source: SubmissionSource;
  lead: Lead;
  notes: Note[];
  consent?: Consent;
  /** Caught as spam: kept for an operator and not applied. Its `identities` are empty. */
  held?: Held;
  /** The body as sent, for the record and for replays. */
  body: string;
  bodyType: BodyType;
  /** The page it came from (Origin or Referer), as sent. */
  page?: string;
  userAgent?: string;
  /** The sender's network address, as configured. */
  address?: string;
  /** Follows one POST through the logs, from receiver to commit. */
  requestId?: string;
  /** The span that it was accepted in, as W3C Trace Context says it, if that is traced. */
  traceparent?: string;
}

/** A body that a known link refused, kept for an operator to mend. Never applied as it is. */
export interface RejectedBody {
  /** The submission id it was answered under: UUIDv7. */
  id: string;
  workspaceId: string;
  linkId: string;
  /** Microseconds since 1970, the receiver's clock. */
  stamp: number;
  /** Of the problem it was answered with. */
  code: string;
  errors: FieldError[];
  body: string;
  bodyType: BodyType;
  page?: string;
  userAgent?: string;
  /** The sender's network address, as configured. */
  address?: string;
}

const PACKED = /^[\w-]{22}$/;
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;
/** Characters of a packed UUID, and of a short digest. */
export const PACKED_LENGTH = 22;

const BASE64URL = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Twelve bits in base64url. */
const PAIRS = Array.from(
  { length: 4_096 },
  (_, bits) => BASE64URL.charAt(bits >> 6) + BASE64URL.charAt(bits & 63),
);
/** Four bits, by the code of their digit. */
const BITS = new Uint8Array(128);
for (const [bits, digit] of Array.from('0123456789abcdef').entries())
  BITS[digit.charCodeAt(0)] = bits;
/** Six bits, by the code of their character; and twelve bits as three digits. */
const SEXTETS = new Uint8Array(128);
for (const [bits, character] of Array.from(BASE64URL).entries())
  SEXTETS[character.charCodeAt(0)] = bits;
const TRIPLES = PAIRS.map((_, bits) => bits.toString(16).padStart(3, '0'));
/** Where a UUID has its digits. */
const PLACES = Array.from({ length: 36 }, (_, at) => at).filter(
  (at) => ![8, 13, 18, 23].includes(at),
);

/**
 * A UUID (lower case) in base64url: 22 characters, where Redis holds millions of them. Throws a
 * TypeError on another text.
 */
export function packUuid(uuid: string): string {
  if (!UUID.test(uuid)) throw new TypeError('not a UUID');
  // Several a post: by a Buffer of its own each takes more than twice as long.
  const bits = (n: number): number => BITS[uuid.charCodeAt(PLACES[n]!)]!;
  let packed = '';
  for (let n = 0; n < 33; n += 3)
    packed += PAIRS[(bits(n) << 8) | (bits(n + 1) << 4) | (n < 30 ? bits(n + 2) : 0)]!;
  return packed;
}

/** Hexadecimal digits (lower case, a multiple of three) in base64url. */
export function packDigits(digits: string): string {
  const bits = (n: number): number => BITS[digits.charCodeAt(n)]!;
  let packed = '';
  for (let n = 0; n < digits.length; n += 3)
    packed += PAIRS[(bits(n) << 8) | (bits(n + 1) << 4) | bits(n + 2)]!;
  return packed;
}

/** The milliseconds since 1970 that a packed UUIDv7 begins with, which stands in a text from `at` on. */
export function packedTime(text: string, at: number): number {
  const bits = (n: number): number => SEXTETS[text.charCodeAt(at + n)] ?? 0;
  const high = (bits(0) << 18) | (bits(1) << 12) | (bits(2) << 6) | bits(3);
  return high * 2 ** 24 + ((bits(4) << 18) | (bits(5) << 12) | (bits(6) << 6) | bits(7));
}

export function unpackUuid(packed: string): string {
  if (!PACKED.test(packed)) throw new TypeError('not a packed UUID');
  const bits = (at: number): number => SEXTETS[packed.charCodeAt(at)]!;
  let hex = '';
  for (let at = 0; at < PACKED_LENGTH; at += 2) hex += TRIPLES[(bits(at) << 6) | bits(at + 1)]!;
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`;
}
