import { Type, type Static } from 'typebox';

const Query = Type.String({ maxLength: 300, description: 'JSONPath (RFC 9535).' });

/**
 * How a link reads the bodies of a sender that has its own names: for each field of a lead the queries
 * of which the first that finds something counts. What no query names is not read.
 */
export const LinkMapping = Type.Object(
  {
    preset: Type.Union([Type.String(), Type.Null()], {
      description: 'The sender that its rules were made for.',
    }),
    rules: Type.Record(Type.String(), Type.Array(Query, { minItems: 1, maxItems: 5 }), {
      description:
        'By field: email, firstName, address.city, utmSource, attribution.gclid, customFields.NAME, …',
    }),
  },
  { additionalProperties: false },
);
export type LinkMapping = Static<typeof LinkMapping>;
