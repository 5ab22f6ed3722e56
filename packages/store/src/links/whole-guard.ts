import type { LinkGuardChanges } from '@leadgate/contract';
import type { LinkGuardSettings } from './link.ts';

/** A guard as a new link has it: what is not asked for is not there, and is found missing. */
export function wholeGuard(asked: LinkGuardChanges = {}): LinkGuardSettings {
  const { honeypot = null, minFillSeconds = null, captcha } = asked;
  return {
    honeypot,
    minFillSeconds,
    captcha: captcha == null ? null : { verifyUrl: '', secret: '', fail: 'open', ...captcha },
  };
}
