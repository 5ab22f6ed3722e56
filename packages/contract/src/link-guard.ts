import { Type, type Static } from 'typebox';

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
  /** Milliseconds that a page has been open at least when its form is sent, where the post says it. */
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
