import { Type, type Static } from 'typebox';

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
