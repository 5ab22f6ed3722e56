import { isJsonObject, type JsonObject } from './reading.ts';

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

/** A beacon cannot set the Idempotency-Key header and sends this instead. */
export const BODY_KEY = '_idempotencyKey';

const SIGNS: ReadonlySet<string> = new Set([FILLED_MS, AGE_MS, BODY_KEY, ...CAPTCHA_FIELDS]);

const LONGEST_TOKEN = 4_096;

/**
 * Takes the signs off a body: what is left is the lead, and is what a repeat is compared with. A
 * snippet sends what it does not know as a custom field, so they are looked for there too.
 */
export function takeSigns(body: unknown, honeypot: string | null): { body: unknown; signs: Signs } {
  const none: Signs = { trapped: false, filledMs: null, ageMs: null, captchaToken: null };
  if (!isJsonObject(body)) return { body, signs: none };
  const custom = body['customFields'];
  const names = honeypot === null ? SIGNS : new Set([...SIGNS, honeypot]);
  // Most posts have none, and are left as they are.
  if (!hasAny(body, names) && !(isJsonObject(custom) && hasAny(custom, names)))
    return { body, signs: none };
  const sent = (name: string): unknown[] =>
    [body, custom].flatMap((fields) =>
      isJsonObject(fields) && Object.hasOwn(fields, name) ? [fields[name]] : [],
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

function hasAny(fields: JsonObject, names: ReadonlySet<string>): boolean {
  for (const name of names) if (Object.hasOwn(fields, name)) return true;
  return false;
}

function customWithout(custom: unknown, names: ReadonlySet<string>): JsonObject {
  return isJsonObject(custom) ? { customFields: without(custom, names) } : {};
}

/** fromEntries defines each key as its own, `__proto__` too. */
function without(fields: JsonObject, names: ReadonlySet<string>): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)));
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
