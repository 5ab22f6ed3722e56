import type { HeldReason, LinkGuard } from '@leadgate/contract';
import type { Signs } from '@leadgate/leads';
import type { VerifyCaptcha } from './captcha.ts';

export type Verdict =
  { kind: 'taken' } | { kind: 'taken-unchecked' } | { kind: 'held'; reason: HeldReason };

const TAKEN: Verdict = { kind: 'taken' };
const held = (reason: HeldReason): Verdict => ({ kind: 'held', reason });

/**
 * Whether a post that its link would take is taken, or held for an operator. Asks the CAPTCHA's
 * service last, and only where the link has one. Never rejects.
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
