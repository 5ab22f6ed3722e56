import type { RejectedBody } from '@leadgate/contract';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';

const compiled = Compile(
  Type.Object({
    id: Type.String(),
    workspaceId: Type.String(),
    linkId: Type.String(),
    stamp: Type.Integer(),
    code: Type.String(),
    errors: Type.Array(
      Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String() }),
    ),
    body: Type.String(),
    bodyType: Type.Union([Type.Literal('json'), Type.Literal('form')]),
    page: Type.Optional(Type.String()),
    userAgent: Type.Optional(Type.String()),
    address: Type.Optional(Type.String()),
  }),
);

/** A refused body from its text in Redis, or null if the text is not one. */
export function readRejectedBody(text: string): RejectedBody | null {
  try {
    const value: unknown = JSON.parse(text);
    return compiled.Check(value) ? value : null;
  } catch {
    return null;
  }
}
