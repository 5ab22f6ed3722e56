import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';

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

/** The services that receivers ask about a CAPTCHA without being told to by their environment. */
export const CAPTCHA_URLS: readonly string[] = [
  'https://challenges.cloudflare.com/turnstile/v0/siteverify',
  'https://api.hcaptcha.com/siteverify',
  'https://hcaptcha.com/siteverify',
  'https://www.google.com/recaptcha/api/siteverify',
  'https://www.recaptcha.net/recaptcha/api/siteverify',
];

/** What a link holds posts back by, as the receiver needs it. */
export const LinkGuard = Type.Object({
  /** Name of a field that no person sees: who fills it in is a robot. */
  honeypot: Type.Union([Type.String(), Type.Null()]),
  /** Milliseconds that a page has been open at least when its form is sent, if the post says it. */
  minFillMs: Type.Union([Type.Integer(), Type.Null()]),
  captcha: Type.Union([
    Type.Object({
      /** One of CAPTCHA_URLS, or one that the receiver's environment names. */
      verifyUrl: Type.String(),
      secret: Type.String(),
      /** What becomes of a post that could not be checked: taken (`open`) or held (`closed`). */
      fail: Type.Union([Type.Literal('open'), Type.Literal('closed')]),
    }),
    Type.Null(),
  ]),
});
export type LinkGuard = Static<typeof LinkGuard>;

const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/**
 * What an operator chooses of a capture link. The link directory, the columns of Postgres, the API and
 * the options of the command line follow from it, by name and kind.
 */
export const LinkSettings = Type.Object({
  label: Type.String({ description: 'Shown to operators only; need not be unique.' }),
  mode: Type.Union([Type.Literal('strict'), Type.Literal('lenient')], {
    description: 'strict refuses a lead with a bad field, lenient sets the field aside.',
  }),
  requireIdentity: Type.Boolean({ description: 'Refuse leads without email and telephone.' }),
  origins: Type.Array(Type.String(), {
    description: 'Sites (scheme://host[:port]) that may post; none: any.',
  }),
  allowServers: Type.Boolean({
    description: 'With origins: take posts without an Origin header too.',
  }),
  redirectUrl: Nullable(
    Type.String({ description: 'Where a plain HTML form goes after its lead was taken.' }),
  ),
  linkLimit: Nullable(Type.Integer({ description: 'Posts a minute; null: the receiver’s own.' })),
  addressLimit: Nullable(Type.Integer({ description: 'Posts a minute from one address.' })),
  mapping: Type.Optional(Nullable(LinkMapping)),
});
export type LinkSettings = Static<typeof LinkSettings>;

/** The settings of a link of which nothing was chosen. */
export const LINK_DEFAULTS: Omit<LinkSettings, 'mapping'> = {
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

/**
 * Telephones that no person has, though people type them. Each is noted; a workspace decides which
 * classes identify nobody.
 */
export const PHONE_CLASSES = {
  repeated: 'One repeated digit after the area code, such as 11 99999-9999.',
  impossible: 'No number of any plan, such as 12345678.',
} as const;
export type PhoneClass = keyof typeof PHONE_CLASSES;
export const PhoneClass = Type.Unsafe<PhoneClass>(Type.Enum(Object.keys(PHONE_CLASSES)));

/**
 * A capture link as the receiver needs it: one entry of the link directory in Redis, by code. Made
 * from Postgres, where the truth is. Entries outlive an upgrade, in Redis and in the receivers' files:
 * a field added after the first version is optional, and says what its absence means.
 */
export const CaptureLink = Type.Object({
  linkId: Type.String(),
  workspaceId: Type.String(),
  /** ISO 3166-1 alpha-2, upper case: the country of phone numbers without a country code. */
  country: Type.String(),
  /** Phones (E.164) that identify nobody. */
  dummyPhones: Type.Array(Type.String()),
  /** Classes of phones that identify nobody. Absent: none, every telephone is a key. */
  dummyClasses: Type.Optional(Type.Array(PhoneClass)),
  state: Type.Union([Type.Literal('open'), Type.Literal('disabled')]),
  /** Milliseconds since 1970: the code is closed from then on. Null: never. */
  expiresAt: Type.Union([Type.Integer(), Type.Null()]),
  ...LinkRules.properties,
  /** Absent if bodies are read by the names of a lead's own fields. */
  mapping: Type.Optional(LinkMapping),
  /** Absent if anyone may send. */
  proof: Type.Optional(LinkProof),
  /** Absent if nothing is held back. */
  guard: Type.Optional(LinkGuard),
  /** Of the directory, when the entry was read from Postgres: an older one replaces no newer one. Absent: 0. */
  revision: Type.Optional(Type.Integer()),
});
export type CaptureLink = Static<typeof CaptureLink>;

const compiled = Compile(CaptureLink);

/** An entry of the link directory from its text, or null if the text is not one. */
export function readCaptureLink(text: string): CaptureLink | null {
  try {
    const value: unknown = JSON.parse(text);
    return compiled.Check(value) ? value : null;
  } catch {
    return null;
  }
}
