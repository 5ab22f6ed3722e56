import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';
import { LinkGuard } from './link-guard.ts';
import { LinkMapping } from './link-mapping.ts';
import { LinkProof } from './link-proof.ts';
import { LinkRules } from './link-settings.ts';

/**
 * Telephones that no person has, though people type them. Each is noted; a workspace decides which
 * classes identify nobody.
 */
export const PHONE_CLASSES = {
  repeated: 'One repeated digit after the area code, such as 11 99999-9999.',
  impossible: 'No number of any plan, such as 12345678.',
} as const;
export type PhoneClass = keyof typeof PHONE_CLASSES;
export const PhoneClass = Type.Unsafe<PhoneClass>(Type.Enum(Object.keys(PHONE_CLASSES)));

/**
 * A capture link as the receiver needs it: one entry of the link directory in Redis, by code. Made
 * from Postgres, where the truth is. Entries outlive an upgrade, in Redis and in the receivers' files:
 * a field added after the first version is optional, and says what its absence means.
 */
export const CaptureLink = Type.Object({
  linkId: Type.String(),
  workspaceId: Type.String(),
  /** ISO 3166-1 alpha-2, upper case: the country of phone numbers without a country code. */
  country: Type.String(),
  /** Phones (E.164) that identify nobody. */
  dummyPhones: Type.Array(Type.String()),
  /** Classes of phones that identify nobody. Absent: none, every telephone is a key. */
  dummyClasses: Type.Optional(Type.Array(PhoneClass)),
  state: Type.Union([Type.Literal('open'), Type.Literal('disabled')]),
  /** Milliseconds since 1970: the code is closed from then on. Null: never. */
  expiresAt: Type.Union([Type.Integer(), Type.Null()]),
  ...LinkRules.properties,
  /** Absent if bodies are read by the names of a lead's own fields. */
  mapping: Type.Optional(LinkMapping),
  /** Absent if anyone may send. */
  proof: Type.Optional(LinkProof),
  /** Absent if nothing is held back. */
  guard: Type.Optional(LinkGuard),
  /** Of the directory, when the entry was read from Postgres: an older one replaces no newer one. Absent: 0. */
  revision: Type.Optional(Type.Integer()),
});
export type CaptureLink = Static<typeof CaptureLink>;

const compiled = Compile(CaptureLink);

/** An entry of the link directory from its text, or null if the text is not one. */
export function readCaptureLink(text: string): CaptureLink | null {
  try {
    const value: unknown = JSON.parse(text);
    return compiled.Check(value) ? value : null;
  } catch {
    return null;
  }
}
