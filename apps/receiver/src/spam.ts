import type { HeldReason, LinkGuard } from '@leadgate/contract';
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

/** What a post says of who filled it in. Anyone can say anything: it catches what does not try hard. */
export interface Signs {
  /** Whether the field that no person sees was filled in. */
  trapped: boolean;
  /** Milliseconds from the page's opening to the sending of its form; null if it is not said. */
  filledMs: number | null;
  /** Milliseconds since it was filled in, of one that was kept by a browser; null: it is of now. */
  ageMs: number | null;
  captchaToken: string | null;
}

/** Beside the lead, and no part of it: it differs from one try to the next. */
const FILLED_MS = '_filledMs';
const AGE_MS = '_ageMs';
/** As long as the snippet keeps what it could not send. */
const LONGEST_AGE_MS = 7 * 24 * 60 * 60 * 1_000;

/** Where the widgets of Turnstile, hCaptcha and reCAPTCHA put their answer. */
const CAPTCHA_FIELDS = ['cf-turnstile-response', 'h-captcha-response', 'g-recaptcha-response'];

const SIGNS: ReadonlySet<string> = new Set([FILLED_MS, AGE_MS, ...CAPTCHA_FIELDS]);

const LONGEST_TOKEN = 4_096;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Takes the signs off a body: what is left is the lead, and is what a repeat is compared with. A
 * snippet sends what it does not know as a custom field, so they are looked for there too.
 */
export function takeSigns(body: unknown, honeypot: string | null): { body: unknown; signs: Signs } {
  const none: Signs = { trapped: false, filledMs: null, ageMs: null, captchaToken: null };
  if (!isFields(body)) return { body, signs: none };
  const custom = body['customFields'];
  const names = honeypot === null ? SIGNS : new Set([...SIGNS, honeypot]);
  // Most posts have none, and are left as they are.
  if (!hasAny(body, names) && !(isFields(custom) && hasAny(custom, names)))
    return { body, signs: none };
  const sent = (name: string): unknown[] =>
    [body, custom].flatMap((fields) =>
      isFields(fields) && Object.hasOwn(fields, name) ? [fields[name]] : [],
    );
  const ageMs = readMilliseconds(sent(AGE_MS)[0]);
  const signs: Signs = {
    trapped: honeypot !== null && sent(honeypot).flat().some(isFilledIn),
    filledMs: readMilliseconds(sent(FILLED_MS)[0]),
    ageMs: ageMs === null ? null : Math.min(Math.floor(ageMs), LONGEST_AGE_MS),
    captchaToken: CAPTCHA_FIELDS.flatMap(sent).find(isToken) ?? null,
  };
  return { body: { ...without(body, names), ...customWithout(custom, names) }, signs };
}

function hasAny(fields: Fields, names: ReadonlySet<string>): boolean {
  for (const name of names) if (Object.hasOwn(fields, name)) return true;
  return false;
}

function customWithout(custom: unknown, names: ReadonlySet<string>): Fields {
  return isFields(custom) ? { customFields: without(custom, names) } : {};
}

/** fromEntries defines each key as its own, `__proto__` too. */
function without(fields: Fields, names: ReadonlySet<string>): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)));
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isFilledIn(value: unknown): boolean {
  return typeof value === 'string' ? value.trim() !== '' : value !== null && value !== undefined;
}

const isToken = (value: unknown): value is string =>
  typeof value === 'string' && value.trim() !== '' && value.length <= LONGEST_TOKEN;

function readMilliseconds(value: unknown): number | null {
  const text = typeof value === 'number' ? String(value) : value;
  return typeof text === 'string' && /^\d{1,12}(\.\d+)?$/.test(text.trim()) ? Number(text) : null;
}
