import type { LinkGuardSettings } from './link.ts';
import type { LinkChanges } from './update-link.ts';

/** A guard as a new link has it: what is not asked for is not there, and is found missing. */
export function wholeGuard(asked: LinkChanges['guard'] = {}): LinkGuardSettings {
  const { honeypot = null, minFillSeconds = null, captcha } = asked;
  return {
    honeypot,
    minFillSeconds,
    captcha: captcha == null ? null : { verifyUrl: '', secret: '', fail: 'open', ...captcha },
  };
}
