import { Type, type Static } from 'typebox';

const Header = Type.String({ pattern: '^[A-Za-z0-9-]{1,100}$' });

/** How the sender of a link proves that a body is its own, without the secret. */
export const LinkProofView = Type.Union(
  [
    Type.Object(
      {
        way: Type.Literal('body'),
        key: Type.String({
          minLength: 1,
          maxLength: 100,
          description: 'At the top of the body; it is not kept with it.',
        }),
      },
      { additionalProperties: false },
    ),
    Type.Object(
      {
        way: Type.Literal('hmac'),
        header: Header,
        encoding: Type.Union([Type.Literal('hex'), Type.Literal('base64')]),
        prefix: Type.Optional(Type.String({ maxLength: 20, description: 'Such as sha256=.' })),
        timestampHeader: Type.Optional({
          ...Header,
          description:
            'Holds milliseconds since 1970; signed is `timestamp:body`, for five minutes.',
        }),
      },
      { additionalProperties: false },
    ),
    Type.Object({ way: Type.Literal('standard-webhooks') }, { additionalProperties: false }),
  ],
  { description: 'HMAC is SHA-256 of the bytes of the body.' },
);
export type LinkProofView = Static<typeof LinkProofView>;

/** The same as receivers need it. */
export const LinkProof = Type.Object({ by: LinkProofView, secret: Type.String() });
export type LinkProof = Static<typeof LinkProof>;
