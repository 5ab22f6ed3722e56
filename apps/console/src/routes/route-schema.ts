import { Type, type TSchema } from 'typebox';

/** What every route of the API may answer besides what it promises. */
export const PROBLEM_ANSWERS = { '4xx': Type.Ref('Problem'), '5xx': Type.Ref('Problem') };

export const Uuid = Type.String({ format: 'uuid' });
export const Time = Type.String({ format: 'date-time' });
export const HeldStateSchema = Type.Union([
  Type.Literal('held'),
  Type.Literal('released'),
  Type.Literal('discarded'),
]);
export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
export const idParams = <Name extends string>(name: Name) =>
  Type.Object({ [name]: Uuid } as Record<Name, typeof Uuid>);

/** How many are listed: 50 unless told otherwise. */
export const Limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'How many at most.' }),
);

/** A JSON object whose members are not all listed: its documented members, and more. */
export const open = <T extends Record<string, TSchema>>(members: T, description?: string) =>
  Type.Object(members, {
    additionalProperties: true,
    ...(description !== undefined && { description }),
  });
