import {
  ADDRESS_FIELDS,
  type FieldError,
  LEAD_FIELDS,
  type LinkGuardChanges,
  type LinkProof,
  type LinkSettings,
  CLICK_IDS,
  UTM_FIELDS,
} from '@leadgate/contract';
import { mappingFaults } from '@leadgate/leads';
import type { LinkGuardSettings } from './links.ts';
import { displayText, displayTextFault } from './text.ts';

// Postgres' integer.
const MAX_LIMIT = 2_147_483_647;

type CheckedLinkSettings =
  { kind: 'valid'; settings: LinkSettings } | { kind: 'invalid'; errors: FieldError[] };

/**
 * The settings of a link as they are stored: origins as browsers send them (lower case, no default
 * port), each once. Or every setting that is wrong. Pure.
 */
export function checkLinkSettings(input: LinkSettings): CheckedLinkSettings {
  const label = displayText(input.label);
  const errors: FieldError[] = [];
  const refuse = (pointer: string, detail: string) => {
    errors.push({ pointer, code: 'invalid', detail });
  };
  const labelFault = label === '' ? null : displayTextFault(label);
  if (labelFault !== null) refuse('/label', `The label ${labelFault}.`);
  const origins = input.origins.map((text, at) => {
    const origin = readOrigin(text);
    if (origin === null)
      refuse(
        `/origins/${at}`,
        `Origin ${at + 1} is not scheme://host[:port] and nothing after it, such as ${exampleFor(text)}.`,
      );
    return origin ?? '';
  });
  const redirectUrl = input.redirectUrl === null ? null : readRedirectUrl(input.redirectUrl);
  if (input.redirectUrl !== null && redirectUrl === null)
    refuse(
      '/redirectUrl',
      'The redirect URL is not an absolute http or https address, such as https://example.com/thanks.',
    );
  for (const field of ['linkLimit', 'addressLimit'] as const)
    if (!isLimit(input[field]))
      refuse(
        `/${field}`,
        `The ${field === 'linkLimit' ? 'link' : 'address'} limit is not a whole number of requests a minute, at least 1.`,
      );
  if (input.mapping != null) errors.push(...mappingFaults(input.mapping));
  if (errors.length > 0) return { kind: 'invalid', errors };
  return {
    kind: 'valid',
    settings: { ...input, label, origins: [...new Set(origins)], redirectUrl },
  };
}

/** An origin as a browser sends it (RFC 6454), or null. */
function readOrigin(text: string): string | null {
  const trimmed = text.trim();
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^/?#@\s*]+$/i.test(trimmed) || !URL.canParse(trimmed)) return null;
  const url = new URL(trimmed);
  // For schemes it does not know (an app's own), URL has no origin but leaves the host as written.
  return url.origin === 'null' ? `${url.protocol}//${url.host.toLowerCase()}` : url.origin;
}

/** The origin that was probably meant. */
function exampleFor(text: string): string {
  const address = text.includes('://') ? text : `https://${text}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && /^[\w.-]+$/.test(url.hostname);
  return isPlain ? url.origin : 'https://example.com';
}

function readRedirectUrl(text: string): string | null {
  const trimmed = text.trim();
  if (!URL.canParse(trimmed)) return null;
  const url = new URL(trimmed);
  return url.protocol === 'https:' || url.protocol === 'http:' ? url.href : null;
}

function isLimit(value: number | null): boolean {
  return value === null || (Number.isInteger(value) && value >= 1 && value <= MAX_LIMIT);
}

/** A lead's own fields, and what the snippet never sends: a trap there would catch people, or nobody. */
const TAKEN = new Set<string>([
  ...LEAD_FIELDS,
  ...ADDRESS_FIELDS,
  ...UTM_FIELDS,
  ...CLICK_IDS,
  ...['address', 'attribution', 'consent', 'customFields'],
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

/** Everything that is wrong with the proof that a link asks for. Pure. */
export function checkLinkProof(proof: LinkProof | null): FieldError[] {
  if (proof === null) return [];
  const { by, secret } = proof;
  const isText = /^[\x20-\x7e]{1,512}$/.test(secret);
  const isKey =
    by.way !== 'standard-webhooks' || /^(whsec_)?[A-Za-z0-9+/]{16,}={0,2}$/.test(secret);
  if (isText && isKey) return [];
  const detail = isText
    ? 'The secret of Standard Webhooks is base64, with or without whsec_ before it.'
    : 'The secret is 1 to 512 printable ASCII characters.';
  return [{ pointer: '/proof/secret', code: 'invalid', detail }];
}

/** https to a name, without credentials in it: no address, which may lead inside. */
function isVerifyUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  const isName = /\.[a-z][a-z0-9-]*\.?$/.test(hostname);
  return protocol === 'https:' && isName && username === '' && password === '';
}

/** A guard as a new link has it: what is not asked for is not there, and is found missing. */
export function wholeGuard(asked: LinkGuardChanges = {}): LinkGuardSettings {
  const { honeypot = null, minFillSeconds = null, captcha } = asked;
  return {
    honeypot,
    minFillSeconds,
    captcha: captcha == null ? null : { verifyUrl: '', secret: '', fail: 'open', ...captcha },
  };
}

/** The columns of a guard; of what is left out, none. */
export function guardColumns({ honeypot, minFillSeconds, captcha }: Partial<LinkGuardSettings>) {
  return {
    ...(honeypot !== undefined && { honeypot }),
    ...(minFillSeconds !== undefined && {
      minFillMs: minFillSeconds === null ? null : Math.round(minFillSeconds * 1_000),
    }),
    ...(captcha !== undefined && {
      captchaUrl: captcha?.verifyUrl ?? null,
      captchaSecret: captcha?.secret ?? null,
      captchaFail: captcha?.fail ?? 'open',
    }),
  };
}
