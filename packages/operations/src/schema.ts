import { Type, type TSchema } from 'typebox';

export const Uuid = Type.String({ format: 'uuid' });

/** A time of an input. */
export const Time = Type.String({ format: 'date-time' });

/** A time of an output: a Date is written as ISO 8601. */
export const At = Type.Unsafe<Date | string>(Type.String({ format: 'date-time' }));

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
