import { type Static, Type } from 'typebox';
import type { Consent, Lead, Note } from './lead.ts';
import type { FieldError } from './problem.ts';

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
