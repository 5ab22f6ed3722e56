import { Type, type Static } from 'typebox';

const Query = Type.String({ maxLength: 1_000, description: 'JSONPath (RFC 9535).' });

/** A query, and what is made of the text that it finds. */
const Transformed = Type.Object(
  {
    query: Query,
    join: Type.Optional(
      Type.Boolean({ description: 'All that is found, with spaces between, and not the first.' }),
    ),
    without: Type.Optional(
      Type.String({ maxLength: 50, description: 'Cut off where the text begins with it.' }),
    ),
    dates: Type.Optional(
      Type.Union([Type.Literal('day-first'), Type.Literal('month-first')], {
        description: '27/11/1990 or 11/27/1990 becomes 1990-11-27.',
      }),
    ),
    values: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        maxProperties: 100,
        description: 'What stands for a value, such as {"Sim": "true"}. Others stay.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type MappingRule = Static<typeof Query> | Static<typeof Transformed>;

/**
 * How a link reads the bodies of a sender that has its own names: for each field of a lead the queries
 * of which the first that finds something counts. What no query names is not read.
 */
export const LinkMapping = Type.Object(
  {
    preset: Type.Union([Type.String(), Type.Null()], {
      description: 'The sender that its rules were made for.',
    }),
    rules: Type.Record(
      Type.String(),
      Type.Array(Type.Union([Query, Transformed]), { minItems: 1, maxItems: 5 }),
      {
        description:
          'By field: email, firstName, address.city, utmSource, attribution.gclid, customFields.NAME, …',
      },
    ),
    rows: Type.Optional(
      Type.String({
        maxLength: 1_000,
        description:
          'JSONPath of a list of leads in the body, such as $ or $.leads: each item is a submission of its own, in which the rules find their fields. A body without that list is one lead.',
      }),
    ),
    rest: Type.Optional(
      Type.Literal('custom-fields', {
        description:
          'Keys at the top of the body that are no object and that no query names are custom fields of their names. Without it they are not read.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type LinkMapping = Static<typeof LinkMapping>;
