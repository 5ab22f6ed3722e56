import { Type, type Static } from 'typebox';
import { Compile } from 'typebox/compile';

/** A body of a known link that was refused, kept for an operator to mend and replay. */
export const RejectedBody = Type.Object({
  /** UUIDv7, given by the receiver: storing it twice stores it once. */
  id: Type.String(),
  workspaceId: Type.String(),
  linkId: Type.String(),
  /** Microseconds since 1970, the receiver's clock. */
  stamp: Type.Integer(),
  /** Of the problem it was answered with. */
  code: Type.String(),
  errors: Type.Array(
    Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String() }),
  ),
  body: Type.String(),
  bodyType: Type.Union([Type.Literal('json'), Type.Literal('form')]),
  page: Type.Optional(Type.String()),
  userAgent: Type.Optional(Type.String()),
  address: Type.Optional(Type.String()),
});
export type RejectedBody = Static<typeof RejectedBody>;

const compiled = Compile(RejectedBody);

/** A refused body from its text in Redis, or null where the text is not one. */
export function readRejectedBody(text: string): RejectedBody | null {
  try {
    const value: unknown = JSON.parse(text);
    return compiled.Check(value) ? value : null;
  } catch {
    return null;
  }
}
