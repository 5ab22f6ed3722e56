import {
  type CaptureLink,
  type Consent,
  externalKey,
  type FieldError,
  type Lead,
  LEAD_FIELDS,
  type LeadField,
  type LinkMapping,
  LONGEST_EXTERNAL_ID,
  type Note,
  UTM_FIELDS,
  type UtmField,
} from '@leadgate/contract';
import {
  CLICK_ID_KEYS,
  MARK_LIMIT,
  readAttribution,
  hasRightCheckDigits,
  readAddress,
  readBirthday,
  readDocument,
  readState,
} from './values.ts';
import {
  isInternational,
  readEmail,
  readTelephone,
  splitPhones,
  identityKeys,
  type PhoneRules,
} from './identity.ts';
import { readCustomFields, readOtherKeys } from './custom-fields.ts';
import { mapBody, rowsOf } from './mapping.ts';
import {
  BIDI_OVERRIDES,
  booleanOfWord,
  cleanText,
  customFieldKey,
  cutText,
  Findings,
  INVISIBLE,
  isBlank,
  isJsonObject,
  isMask,
  isWholeNumber,
  type JsonObject,
  normalized,
  NOT_AN_OBJECT,
  opened,
  own,
  type Reading,
  readText,
  readTextOrInteger,
  type Refusal,
  withoutEntities,
} from './reading.ts';

export interface NormalizeOptions extends PhoneRules {
  /** `strict` refuses a lead with any bad field; `lenient` sets bad fields aside with a note. */
  mode: 'strict' | 'lenient';
  /** YYYY-MM-DD, the last day somebody can have been born on. */
  today: string;
  /** A form: custom fields may stand at its top level. */
  isForm?: boolean;
}

type NormalizedLead =
  | {
      kind: 'accepted';
      lead: Lead;
      identities: string[];
      notes: Note[];
      consent?: Consent;
      externalId?: string;
      isTest?: true;
    }
  | { kind: 'refused'; errors: FieldError[] };

const READERS: Record<LeadField, (value: unknown, today: string) => Reading> = {
  email: readEmail,
  name: (value) => readText(value, undefined, BIDI_OVERRIDES),
  telephone: readTelephone,
  document: readDocument,
  profession: (value) => readText(value),
  city: (value) => readText(value),
  state: readState,
  instagram: readInstagram,
  birthday: readBirthday,
};

/** Fields of people's words, which a page's template may have escaped. */
const WORDS = new Set<LeadField>(['name', 'profession', 'city', 'state']);

/** As ad platforms write them in the address of a page, and plain forms in hidden fields. */
const UTM_NAMES: Record<UtmField, string> = {
  utmSource: 'utm_source',
  utmMedium: 'utm_medium',
  utmCampaign: 'utm_campaign',
  utmContent: 'utm_content',
  utmTerm: 'utm_term',
};

/** A beacon cannot set the Idempotency-Key header and sends this instead. */
export const BODY_KEY = '_idempotencyKey';

const KNOWN_KEYS = new Set<string>([
  ...LEAD_FIELDS,
  ...UTM_FIELDS,
  ...Object.values(UTM_NAMES),
  'firstName',
  'first_name',
  'lastName',
  'last_name',
  'address',
  'customFields',
  'consent',
  'attribution',
  'externalId',
  'test',
  ...CLICK_ID_KEYS,
  BODY_KEY,
  // How long a form took, and how long ago: the receiver's, and in a refused body that is taken after all.
  '_filledMs',
  '_ageMs',
]);

/** Whether a key of a body's top level is that of a lead's own field. */
export function isLeadKey(key: string): boolean {
  return KNOWN_KEYS.has(key) || DOTTED.test(key);
}

/**
 * A parsed body as a normal lead, with its identity keys (email first) and notes on what was done
 * to it. Every field is optional; null and blank text are not sent. Refused is a body that is no
 * object, in either mode, and in strict mode one with a bad field: the errors then name every one
 * by JSON pointer. Neither errors nor notes repeat a value.
 */
export function normalizeLead(sent: unknown, options: NormalizeOptions): NormalizedLead {
  if (!isJsonObject(sent)) {
    const refusal = Array.isArray(sent) && sent.length > 1 ? SEVERAL : NOT_AN_OBJECT;
    return { kind: 'refused', errors: [{ pointer: '', ...refusal }] };
  }
  const findings = new Findings();
  const body = undotted(sent);
  const lead = readFields(body, options, findings);
  const consent = readConsent(opened(own(body, 'consent')), findings);
  const externalId = readExternalId(body, findings);
  const isTest = isTestLead(body);
  if (options.mode === 'strict' && findings.errors.length > 0 && !isTest)
    return { kind: 'refused', errors: findings.errors };

  const { country, dummyPhones, dummyClasses = [] } = options;
  const international = isInternational(own(body, 'telephone'));
  const phones = { country, dummyPhones, dummyClasses, international };
  const { keys, notes } = identityKeys(lead, phones);
  const accepted: Extract<NormalizedLead, { kind: 'accepted' }> = {
    kind: 'accepted',
    lead,
    identities: keys,
    notes: findings.notes().concat(notes),
  };
  if (consent !== undefined) accepted.consent = consent;
  if (externalId !== undefined) accepted.externalId = externalId;
  if (isTest) accepted.isTest = true;
  return accepted;
}

const SEVERAL = { code: 'several-leads', detail: 'Send one lead a post.' };

/** A body that is a list of one is that one, unless a mapping says where things stand in the list. */
export function soleItem(body: unknown, { mapping }: Pick<CaptureLink, 'mapping'>): unknown {
  const whole = Array.isArray(body) ? (body as unknown[]) : null;
  const list = mapping === undefined ? whole : rowsOf(body, mapping);
  return list?.length === 1 ? list[0] : body;
}

/** What Meta's tool for tests writes into the fields of a lead. */
const DUMMY = /^<?test lead: dummy data/i;
const MAY_BE_DUMMY: readonly string[] = [...LEAD_FIELDS, 'firstName', 'first_name'];

/** Whether a lead says of itself that it is a test of its sender: it is read as far as it goes. */
function isTestLead(body: JsonObject): boolean {
  const said = own(body, 'test');
  if (said === true || (typeof said === 'string' && /^\s*true\s*$/i.test(said))) return true;
  return MAY_BE_DUMMY.some((field) => {
    const value = own(body, field);
    return typeof value === 'string' && DUMMY.test(value);
  });
}

/** The sender's own id of the submission. */
function readExternalId(body: JsonObject, findings: Findings): string | undefined {
  const sent = own(body, 'externalId');
  const text = isWholeNumber(sent) ? String(sent) : sent;
  return findings.accept(readText(text, LONGEST_EXTERNAL_ID), '/externalId');
}

function readFields(
  body: JsonObject,
  { today, isForm = false }: NormalizeOptions,
  findings: Findings,
): Lead {
  const lead: Lead = {};
  for (const field of LEAD_FIELDS) {
    const sent = field === 'name' ? nameOf(body) : own(body, field);
    if (isMask(sent)) continue;
    const value = WORDS.has(field) ? withoutEntities(sent) : sent;
    if (value !== sent) findings.note(`/${field}`, 'html-entities');
    const text = findings.accept(READERS[field](value, today), `/${field}`);
    if (text !== undefined && !isMask(text)) lead[field] = text;
  }
  const telephone = own(body, 'telephone');
  if (typeof telephone === 'string' && lead.telephone && splitPhones(telephone).isOneOfSeveral)
    findings.note('/telephone', 'first-of-several');
  if (lead.document !== undefined && !hasRightCheckDigits(lead.document))
    findings.note('/document', 'check-digits');

  const address = readAddress(opened(own(body, 'address')), findings);
  if (address !== undefined) lead.address = address;

  for (const field of UTM_FIELDS) {
    const sent = own(body, field) ?? own(body, UTM_NAMES[field]);
    const value: unknown = Array.isArray(sent) ? sent.find((one) => !isBlank(one)) : sent;
    const text = findings.accept(readText(value, Infinity), `/${field}`);
    if (Array.isArray(sent) && sent.length > 1) findings.note(`/${field}`, 'first-of-several');
    if (text === undefined) continue;
    lead[field] = cutText(text, MARK_LIMIT).trimEnd();
    if (lead[field] !== text) findings.note(`/${field}`, 'cut', `at ${MARK_LIMIT} characters`);
  }
  const attribution = readAttribution(body, findings);
  if (attribution !== undefined) lead.attribution = attribution;

  const customFields = readCustomFields(opened(own(body, 'customFields')), findings);
  if (customFields !== undefined) lead.customFields = customFields;

  const keys = Object.keys(body);
  const others = keys.filter((key) => !KNOWN_KEYS.has(key));
  for (const key of others) findings.unknownKey(key);
  if (keys.length > 0 && others.length === keys.length) findings.note('', 'nothing-recognised');
  const otherKeys = isForm ? readOtherKeys(others.map((key) => [key, own(body, key)])) : undefined;
  if (otherKeys !== undefined) lead.otherKeys = otherKeys;
  return lead;
}

function nameOf(body: JsonObject): unknown {
  const part = (...names: string[]): string | undefined =>
    names
      .map((name) => own(body, name))
      .find((sent): sent is string => typeof sent === 'string' && !isMask(sent))
      ?.trim();
  const whole = own(body, 'name');
  return wholeName(isBlank(whole) || isMask(whole) ? undefined : whole, {
    first: part('firstName', 'first_name'),
    last: part('lastName', 'last_name'),
  });
}

/**
 * The name out of what says it whole or in parts. A name beside a last name alone is a first name, unless
 * it ends with it; beside both parts it is the whole one.
 */
export function wholeName(
  whole: unknown,
  { first, last }: { first?: string | undefined; last?: string | undefined },
): unknown {
  if (typeof whole !== 'string')
    return whole ?? (first === undefined ? last : last === undefined ? first : `${first} ${last}`);
  if (last === undefined || first !== undefined) return whole;
  const name = whole.trim();
  return customFieldKey(name).endsWith(customFieldKey(last)) ? whole : `${name} ${last}`;
}

/** Objects whose keys may stand at the top level with a dot, as some pages name their inputs. */
const DOTTED = /^(address|attribution|consent|customFields)\.(?=.)/s;
const isDotted = (key: string): boolean => key.includes('.') && DOTTED.test(key);

/** A body in which `address.city` is what it stands for, unless the object itself says it. */
function undotted(body: JsonObject): JsonObject {
  if (!Object.keys(body).some(isDotted)) return body;
  const dotted = Object.entries(body).filter(([key]) => isDotted(key));
  const plain = new Map(Object.entries(body));
  const inner = new Map<string, [string, unknown][]>();
  for (const [key, value] of dotted) {
    plain.delete(key);
    const at = key.indexOf('.');
    const outer = key.slice(0, at);
    inner.set(outer, [...(inner.get(outer) ?? []), [key.slice(at + 1), value]]);
  }
  for (const [outer, entries] of inner) {
    const object = plain.get(outer);
    // A box `consent` beside `consent.text` says that it is given.
    const said = isJsonObject(object)
      ? Object.entries(object)
      : isBlank(object) || outer !== 'consent'
        ? []
        : [['given', object] as const];
    if (isBlank(object) || isJsonObject(object) || outer === 'consent')
      plain.set(outer, Object.fromEntries([...entries, ...said]));
  }
  // fromEntries defines each key as its own, `__proto__` too.
  return Object.fromEntries(plain);
}

const PROFILE = /^(?:https?:\/\/)?(?:(?:www|m)\.)?instagram\.com(?:\/+(?:_u\/)?([^/?#]*)|$)/i;
/** First parts of an Instagram address that are no handle. */
const PAGES = new Set(['p', 'reel', 'reels', 'tv', 'explore', 'stories', 'accounts', 'direct']);

/**
 * An Instagram handle without @ and without the address of the profile around it. The address of a
 * post or a page says no handle and is kept as it is.
 */
export function readInstagram(value: unknown): Reading {
  const text = readText(value, undefined, INVISIBLE);
  if (typeof text !== 'string') return text;
  const address = PROFILE.exec(text);
  const handle = address === null ? text : (address[1] ?? '');
  if (PAGES.has(handle.toLowerCase()) && address !== null) return text;
  return handle.replace(/^[@\s]+/, '').trim() || undefined;
}

/** What of a capture link decides how a body is read. */
export type ReadingRules = PhoneRules & Pick<CaptureLink, 'linkId' | 'mode' | 'requireIdentity'>;

/** A link that sets aside what it would refuse: its posts had their 202, or are only looked at. */
export const refusingNothing = <T extends ReadingRules>(link: T): T => ({
  ...link,
  mode: 'lenient',
  requireIdentity: false,
});

export type LeadReading =
  | {
      kind: 'read';
      lead: Lead;
      identities: string[];
      notes: Note[];
      consent?: Consent;
      /** It is a test of its sender, and waits for an operator. */
      held?: 'test';
    }
  | { kind: 'refused'; code: 'invalid-lead' | 'identity-required'; errors: FieldError[] };

/**
 * Reads a parsed body as the link that it came to says, whichever way it came: posted, imported, or
 * mended after it was refused. `lenient`: asked for besides the link's own mode; `now`: milliseconds
 * since 1970; `isForm`: of a form. The sender's id of it is the first of the identities.
 */
export function readLead(
  body: unknown,
  link: ReadingRules,
  { lenient = false, now, isForm = false }: { lenient?: boolean; now: number; isForm?: boolean },
): LeadReading {
  const normalized = normalizeLead(body, {
    country: link.country,
    dummyPhones: link.dummyPhones,
    dummyClasses: link.dummyClasses ?? [],
    mode: lenient || link.mode === 'lenient' ? 'lenient' : 'strict',
    today: latestDate(now),
    isForm,
  });
  if (normalized.kind === 'refused') return { ...normalized, code: 'invalid-lead' };
  const { lead, identities, notes, consent, externalId, isTest } = normalized;
  if (link.requireIdentity && identities.length === 0 && isTest !== true)
    return { kind: 'refused', code: 'identity-required', errors: [] };
  if (externalId !== undefined) identities.unshift(externalKey(link.linkId, externalId));
  const read: Extract<LeadReading, { kind: 'read' }> = { kind: 'read', lead, identities, notes };
  if (consent !== undefined) read.consent = consent;
  if (isTest === true) read.held = 'test';
  return read;
}

/**
 * Reads a parsed body as its sender sent it to a link: by the link's mapping, if it has one. Of one in which
 * the mapping finds nothing, that is noted. Otherwise as `readLead`.
 */
export function readSent(
  body: unknown,
  link: ReadingRules & Pick<CaptureLink, 'mapping'>,
  options: Parameters<typeof readLead>[2],
): LeadReading {
  if (link.mapping === undefined) return readLead(body, link, options);
  const mapped = mapBody(body, link.mapping);
  const reading = readLead(mapped, link, options);
  if (reading.kind === 'read' && isNothingOf(mapped, link.mapping) && !isEmpty(body))
    reading.notes.push({ field: '', code: 'nothing-recognised' });
  return reading;
}

const isEmpty = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && Object.keys(body).length === 0;

/** Whether no query found anything. What goes to custom fields by its key was not asked for. */
const isNothingOf = (mapped: unknown, { rest }: LinkMapping): boolean =>
  isJsonObject(mapped) &&
  Object.keys(mapped).every((key) => rest !== undefined && key === 'customFields');

/** The date where it is latest, UTC+14: nobody's birthday of today is in the future. */
function latestDate(now: number): string {
  const day = Math.floor((now + 14 * HOUR_MS) / (24 * HOUR_MS));
  if (latest.day !== day)
    latest = { day, date: new Date(day * 24 * HOUR_MS).toISOString().slice(0, 10) };
  return latest.date;
}

const HOUR_MS = 3_600_000;
/** Of the post before: nearly always the same. */
let latest = { day: NaN, date: '' };

/** Room for a whole privacy notice. */
const TEXT_LIMIT = 10_000;

const NOT_A_BOOLEAN: Refusal = { code: 'not-a-boolean', detail: 'Send true or false.' };

const CONSENT_KEYS = new Set(['given', 'text', 'textVersion', 'language']);

export const isConsentKey = (key: string): boolean => CONSENT_KEYS.has(key);

/** The form of a BCP 47 tag (RFC 5646, 2.1), as long as any that is in use. */
const LANGUAGE = /^[a-z]{2,8}(?:-[a-z0-9]{1,8}){0,4}$/i;

/**
 * The consent of a body; absent if nothing of it was sent. It counts as given only if that is
 * said: a checkbox that is not ticked sends nothing, and only the words beside it arrive. One whose
 * value is these words says all by itself, be it named `consent` or `consent.given`.
 */
function readConsent(value: unknown, findings: Findings): Consent | undefined {
  if (isNothing(value)) return undefined;
  if (!isJsonObject(value)) {
    const said = oneOf(value);
    const given = booleanOf(said);
    if (given !== undefined) return { given };
    const text = wordsOf(said);
    if (text !== undefined) return { given: !isRefusal(text), text };
    findings.refuse(NOT_AN_OBJECT, '/consent');
    return undefined;
  }
  const sent = oneOf(own(value, 'given'));
  const agreed = isNothing(sent) ? undefined : (booleanOf(sent) ?? wordsOf(sent));
  if (!isNothing(sent) && agreed === undefined) findings.refuse(NOT_A_BOOLEAN, '/consent/given');
  const given = typeof agreed === 'string' ? !isRefusal(agreed) : agreed;
  const words = typeof agreed === 'string' ? agreed : undefined;
  const text = findings.accept(readText(own(value, 'text'), TEXT_LIMIT), '/consent/text') ?? words;
  const textVersion = findings.accept(
    readTextOrInteger(own(value, 'textVersion')),
    '/consent/textVersion',
  );
  const language = readLanguage(own(value, 'language'), findings);
  for (const key of Object.keys(value))
    if (!CONSENT_KEYS.has(key)) findings.unknownKey(key, 'consent');
  if (given === undefined && text === undefined && textVersion === undefined) return undefined;
  return {
    given: given ?? false,
    ...(text !== undefined && { text }),
    ...(textVersion !== undefined && { textVersion }),
    ...(language !== undefined && { language }),
  };
}

/** It proves nothing by itself: what is no tag is set aside. */
function readLanguage(sent: unknown, findings: Findings): string | undefined {
  if (isBlank(sent)) return undefined;
  const tag = typeof sent === 'string' ? sent.trim() : '';
  if (LANGUAGE.test(tag)) return tag;
  findings.note('/consent/language', 'set-aside', 'Send a BCP 47 tag: pt-BR.');
  return undefined;
}

function booleanOf(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  return typeof value === 'string' || typeof value === 'number'
    ? booleanOfWord(String(value))
    : undefined;
}

const isNothing = (value: unknown): boolean => isBlank(value) || isMask(value);

/** Of a list, as several boxes of one name send: the last if they say yes or no, else their words. */
function oneOf(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  const said: unknown[] = value.filter((one) => !isNothing(one));
  const words = said.filter((one) => booleanOf(one) === undefined);
  if (words.length === 0) return said.at(-1);
  return words.every((one) => typeof one === 'string')
    ? (words.find(isRefusal) ?? words.join('; '))
    : value;
}

/** Whole texts that refuse, folded; `denied` is what consent tools say. */
const REFUSALS =
  /^(?:(?:nao|no)(?:,? (?:obrigad[oa]|gracias|thanks?|thank you))?|(?:eu |yo |i )?(?:recus|rejeit|rechaz|neg|discord|disagree|refuse|reject|decline|den[iy]|revo[gk]|withdr[ae]w)(?:o|a?do|e?d|n)?|denegado|desacuerdo|nunca|never|nenhum|none|nope|nein|non|unchecked|(?:opt(?:ed)?[ -]?out|unsubscribed?))$/;
/** Sentences of an option to refuse, as \`Não aceito\` among radio buttons; a notice that begins so is none. */
const REFUSING =
  /^(?:(?:eu |yo )?(?:nao|no),? (?:aceito|autorizo|concordo|consinto|permito|desejo|dou|acepto|autorizo|consiento|deseo|doy|estoy de acuerdo)\b[^.;:!?]{0,200}|(?:eu |yo )?(?:nao|no),? (?:quero|quiero|gostaria)\b[^.;:!?]{0,40}|i (?:do not|don.?t) (?:accept|agree|authori[sz]e|consent|permit)\b[^.;:!?]{0,200}|i (?:do not|don.?t) want\b[^.;:!?]{0,40}|(?:i |eu |yo )?(?:recuso|rechazo|rejeito|decline|refuse|reject|disagree|discordo)\b[^.;:!?]{0,40})$/;

function isRefusal(words: unknown): boolean {
  const folded = normalized(String(words).toLowerCase(), 'NFD')
    .replace(/\p{M}+/gu, '')
    .replace(/\s+/g, ' ')
    .replace(/^[\s"'(]+|(?<![\s"').!])[\s"').!]+$/g, '');
  return REFUSALS.test(folded) || REFUSING.test(folded);
}

/** The value of a ticked checkbox is the words beside it: what is no refusal was agreed to. */
function wordsOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  return cutText(cleanText(value), TEXT_LIMIT).trimEnd() || undefined;
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
