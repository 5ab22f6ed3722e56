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
