import { ADDRESS_FIELDS, LEAD_FIELDS, UTM_FIELDS, type FieldError } from '@leadgate/contract';
import type { LinkGuardSettings } from './link.ts';

/** A lead's own fields, and what the snippet never sends: a trap there would catch people, or nobody. */
const TAKEN = new Set<string>([
  ...LEAD_FIELDS,
  ...ADDRESS_FIELDS,
  ...UTM_FIELDS,
  ...['address', 'consent', 'customFields'],
]);
const NEVER_SENT = /^_|[cx]srf|token|passw|senha|captcha|turnstile/i;

/** Longer, and the form is a trap for who has it filled in by the browser. */
const LONGEST_FILL_SECONDS = 60;

/** Everything that is wrong with the guard of a link. Pure. */
export function checkLinkGuard(guard: LinkGuardSettings): FieldError[] {
  const errors: FieldError[] = [];
  const refuse = (field: string, detail: string) => {
    errors.push({ pointer: `/guard/${field}`, code: 'invalid', detail });
  };
  const { honeypot, minFillSeconds, captcha } = guard;
  if (honeypot !== null && !/^[A-Za-z][\w-]{0,63}$/.test(honeypot))
    refuse(
      'honeypot',
      'The honeypot is a field’s name of letters, digits, - and _, such as website.',
    );
  else if (honeypot !== null && (TAKEN.has(honeypot) || NEVER_SENT.test(honeypot)))
    refuse(
      'honeypot',
      `The honeypot cannot be ${honeypot}: people fill it in, or the snippet never sends it.`,
    );
  if (minFillSeconds !== null && !(minFillSeconds > 0 && minFillSeconds <= LONGEST_FILL_SECONDS))
    refuse(
      'minFillSeconds',
      `The minimum fill time is above 0 and at most ${LONGEST_FILL_SECONDS} seconds.`,
    );
  if (captcha !== null) {
    if (!isVerifyUrl(captcha.verifyUrl))
      refuse(
        'captcha/verifyUrl',
        'The verify URL is an https address, such as https://challenges.cloudflare.com/turnstile/v0/siteverify.',
      );
    if (captcha.secret === '' || /[^\x21-\x7e]/.test(captcha.secret) || captcha.secret.length > 512)
      refuse(
        'captcha/secret',
        'The CAPTCHA’s secret is 1 to 512 printable characters without spaces; another verify URL needs its own.',
      );
  }
  return errors;
}

/** https to a name, without credentials in it: no address, which may lead inside. */
function isVerifyUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const isName = /\.[a-z][a-z0-9-]*\.?$/.test(hostname);
  return protocol === 'https:' && isName && username === '' && password === '';
}
