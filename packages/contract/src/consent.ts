import { Type, type Static } from 'typebox';

/**
 * What a person agreed to, or did not, as the form says it. When, on which page, from where and with
 * which browser stands with the submission that it came in.
 */
export const Consent = Type.Object(
  {
    given: Type.Boolean(),
    text: Type.Optional(Type.String({ description: 'The words that were agreed to.' })),
    textVersion: Type.Optional(Type.String({ description: 'The name of those words.' })),
    language: Type.Optional(Type.String({ description: 'Of those words, as a BCP 47 tag.' })),
  },
  { additionalProperties: false },
);
export type Consent = Static<typeof Consent>;
