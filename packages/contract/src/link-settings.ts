import { Type, type Static, type TSchema } from 'typebox';
import { LinkMapping } from './link-mapping.ts';

const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/**
 * What an operator chooses of a capture link. The link directory, the columns of Postgres, the API and
 * the command line follow from it.
 */
export const LinkSettings = Type.Object({
  label: Type.String({ description: 'Shown to operators only; need not be unique.' }),
  mode: Type.Union([Type.Literal('strict'), Type.Literal('lenient')], {
    description: 'strict refuses a lead with a bad field, lenient sets the field aside.',
  }),
  requireIdentity: Type.Boolean({ description: 'Whether an email or a telephone is needed.' }),
  origins: Type.Array(Type.String(), { description: 'Sites that may post; none: any.' }),
  allowServers: Type.Boolean({
    description: 'With a list of origins: whether a request without an Origin may post.',
  }),
  redirectUrl: Nullable(
    Type.String({ description: 'Where a plain HTML form is sent afterwards.' }),
  ),
  linkLimit: Nullable(Type.Integer({ description: 'Posts a minute; null: the receiver’s own.' })),
  addressLimit: Nullable(Type.Integer({ description: 'Posts a minute from one address.' })),
  mapping: Type.Optional(Nullable(LinkMapping)),
});
export type LinkSettings = Static<typeof LinkSettings>;

/** The settings of a link of which nothing was chosen. */
export const LINK_DEFAULTS: LinkSettings = {
  label: '',
  mode: 'strict',
  requireIdentity: false,
  origins: [],
  allowServers: true,
  redirectUrl: null,
  linkLimit: null,
  addressLimit: null,
};

/** The settings that receivers read. One that is added is optional for them: entries of before lack it. */
export const LinkRules = Type.Omit(LinkSettings, ['label', 'mapping']);

const honeypot = Nullable(
  Type.String({ description: 'Posts that fill in this field are held: no person sees it.' }),
);
const minFillSeconds = Nullable(
  Type.Number({ description: 'Posts sent sooner after the page opened are held.' }),
);
const captcha = {
  verifyUrl: Type.String({ description: 'Of Turnstile, hCaptcha or reCAPTCHA.' }),
  fail: Type.Union([Type.Literal('open'), Type.Literal('closed')], {
    description: 'What becomes of a post that could not be checked: taken, or held.',
  }),
};

/** What a link holds posts back by, as operators see it. */
export const LinkGuardView = Type.Object({
  honeypot,
  minFillSeconds,
  captcha: Nullable(Type.Object(captcha)),
});
export type LinkGuardView = Static<typeof LinkGuardView>;

/** What of it is to change; null takes it away. Without a secret, the one that is there stays. */
export const LinkGuardChanges = Type.Object(
  {
    honeypot: Type.Optional(honeypot),
    minFillSeconds: Type.Optional(minFillSeconds),
    captcha: Type.Optional(
      Nullable(
        Type.Object(
          {
            ...Type.Partial(Type.Object(captcha)).properties,
            secret: Type.Optional(Type.String({ description: 'Is never shown again.' })),
          },
          { additionalProperties: false },
        ),
      ),
    ),
  },
  { additionalProperties: false, description: 'What it holds posts back by.' },
);
export type LinkGuardChanges = Static<typeof LinkGuardChanges>;
