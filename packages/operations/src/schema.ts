import { Type, type TSchema } from 'typebox';

export const Uuid = Type.String({ format: 'uuid' });

export const Time = Type.String({ format: 'date-time' });

/** A time of an output: a Date is written as ISO 8601. */
export const At = Type.Unsafe<Date | string>(Type.String({ format: 'date-time' }));

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** How many are listed: 50 unless told otherwise. */
export const Limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'How many at most.' }),
);

/** The times of an input, as moments. */
export function momentsOf<T extends { since?: string; until?: string }>({
  since,
  until,
  ...rest
}: T): Omit<T, 'since' | 'until'> & { since?: Date; until?: Date } {
  return {
    ...rest,
    ...(since !== undefined && { since: new Date(since) }),
    ...(until !== undefined && { until: new Date(until) }),
  };
}

/** A JSON object whose members are not all listed: its documented members, and more. */
export const open = <T extends Record<string, TSchema>>(members: T, description?: string) =>
  Type.Object(members, {
    additionalProperties: true,
    ...(description !== undefined && { description }),
  });
