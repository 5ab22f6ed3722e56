import { CAPTCHA_URLS, type HeldReason, type LinkGuard } from '@leadgate/contract';
import { createSender, type Guard } from '@leadgate/delivery';
import type { Signs } from '@leadgate/leads';
import type { OpenSecret } from './secrets.ts';

export type Verdict =
  { kind: 'taken' } | { kind: 'taken-unchecked' } | { kind: 'held'; reason: HeldReason };

export const TAKEN: Verdict = { kind: 'taken' };
const held = (reason: HeldReason): Verdict => ({ kind: 'held', reason });

/**
 * Whether a post that its link would take is taken, or held for an operator. Asks the CAPTCHA's
 * service last, and only if the link has one. Never rejects.
 */
export async function checkForSpam(
  guard: LinkGuard | undefined,
  { trapped, filledMs, captchaToken }: Signs,
  verifyCaptcha: VerifyCaptcha,
): Promise<Verdict> {
  if (guard === undefined) return TAKEN;
  if (trapped) return held('honeypot');
  // A form without a script does not tell the time, and is not judged by it.
  if (guard.minFillMs !== null && filledMs !== null && filledMs < guard.minFillMs)
    return held('too-quick');
  const { captcha } = guard;
  if (captcha === null) return TAKEN;
  if (captchaToken === null) return held('captcha');
  switch (await verifyCaptcha(captcha, captchaToken)) {
    case 'passed':
      return TAKEN;
    case 'failed':
      return held('captcha');
    case 'unreachable':
      return captcha.fail === 'open' ? { kind: 'taken-unchecked' } : held('captcha-unreachable');
  }
}

type Captcha = NonNullable<LinkGuard['captcha']>;

/**
 * Asks a CAPTCHA's service about a token. `unreachable`: it did not say, in time and in a way that is
 * understood. Never rejects.
 */
export type VerifyCaptcha = (
  captcha: Pick<Captcha, 'verifyUrl' | 'secret'>,
  token: string,
) => Promise<'passed' | 'failed' | 'unreachable'>;

/** A visitor waits for it. */
const ANSWER_WITHIN_MS = 2_000;
/** Asked at once, of one service. */
const CONNECTIONS = 64;

/**
 * Turnstile, hCaptcha and reCAPTCHA take the same form and answer `{"success": true}`. The visitor's
 * address, which they may be told, stays here. Redirects are not followed: the address is an
 * operator's, and what it points to is not.
 */
export function createVerifyCaptcha(
  furtherUrls: readonly string[],
  guard: Guard,
  openSecret: OpenSecret,
): VerifyCaptcha {
  const urls = new Set([...CAPTCHA_URLS, ...furtherUrls]);
  const sender = createSender(guard, { connections: CONNECTIONS, timeoutMs: ANSWER_WITHIN_MS });
  const headers = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded;charset=UTF-8',
  };
  return async ({ verifyUrl, secret: stored }, token) => {
    // What an operator typed reaches no other place; what it resolves to, the guard judges.
    if (!urls.has(verifyUrl) || guard.faultOf(verifyUrl) !== null) return 'unreachable';
    const secret = openSecret(stored);
    if (secret === null) return 'unreachable';
    const body = new URLSearchParams({ secret, response: token }).toString();
    const result = await sender.post(verifyUrl, headers, body);
    return result.kind === 'answered' ? verdictOf(result.answer) : 'unreachable';
  };
}

function verdictOf(answer: string): 'passed' | 'failed' | 'unreachable' {
  try {
    const said: unknown = JSON.parse(answer);
    if (typeof said !== 'object' || said === null || !('success' in said)) return 'unreachable';
    if (said.success === true) return 'passed';
    return said.success === false && !isOurFault(said) ? 'failed' : 'unreachable';
  } catch {
    // Neither the secret nor the token may reach a log.
    return 'unreachable';
  }
}

/**
 * What the three services say if the fault is the operator's or their own. Everything else is about the
 * token, `sitekey-secret-mismatch` too: somebody solved a CAPTCHA of another site.
 */
const OUR_FAULTS = new Set<unknown>([
  ...['missing-input-secret', 'invalid-input-secret', 'internal-error'],
]);

function isOurFault(said: object): boolean {
  const codes: unknown = Reflect.get(said, 'error-codes');
  return Array.isArray(codes) && codes.some((code) => OUR_FAULTS.has(code));
}
