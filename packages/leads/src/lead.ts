import {
  type CaptureLink,
  type Consent,
  type FieldError,
  externalKey,
  LEAD_FIELDS,
  LONGEST_EXTERNAL_ID,
  type Lead,
  type LeadField,
  type LinkMapping,
  type Note,
  UTM_FIELDS,
  type UtmField,
} from '@leadgate/contract';
import { readAddress, readState } from './address.ts';
import { CLICK_ID_KEYS, MARK_LIMIT, readAttribution } from './attribution.ts';
import { readConsent } from './consent.ts';
import { readCustomFields, readOtherKeys } from './custom-fields.ts';
import { readBirthday } from './date.ts';
import { hasRightCheckDigits, readDocument } from './document.ts';
import { readEmail } from './email.ts';
import { type PhoneRules, identityKeys } from './identity.ts';
import { mapBody, rowsOf } from './mapping.ts';
import {
  Findings,
  type JsonObject,
  NOT_AN_OBJECT,
  type Reading,
  isBlank,
  isJsonObject,
  isMask,
  isWholeNumber,
  opened,
  own,
  readText,
  withoutEntities,
} from './reading.ts';
import { BODY_KEY } from './signs.ts';
import { isInternational, readTelephone, splitPhones } from './telephone.ts';
import { BIDI_OVERRIDES, INVISIBLE, customFieldKey, cutText } from './text.ts';

export interface NormalizeOptions extends PhoneRules {
  /** `strict` refuses a lead with any bad field; `lenient` sets bad fields aside with a note. */
  mode: 'strict' | 'lenient';
  /** YYYY-MM-DD, the last day somebody can have been born on. */
  today: string;
  /** A form: custom fields may stand at its top level. */
  isForm?: boolean;
}

export type NormalizedLead =
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

  const { keys, notes } = identityKeys(lead, {
    ...options,
    international: isInternational(own(body, 'telephone')),
  });
  return {
    kind: 'accepted',
    lead,
    identities: keys,
    notes: [...findings.notes(), ...notes],
    ...(consent !== undefined && { consent }),
    ...(externalId !== undefined && { externalId }),
    ...(isTest && { isTest: true as const }),
  };
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

/** Whether a lead says of itself that it is a test of its sender: it is read as far as it goes. */
function isTestLead(body: JsonObject): boolean {
  const said = own(body, 'test');
  if (said === true || (typeof said === 'string' && /^\s*true\s*$/i.test(said))) return true;
  return [...LEAD_FIELDS, 'firstName', 'first_name'].some((field) => {
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

/** A body in which `address.city` is what it stands for, unless the object itself says it. */
function undotted(body: JsonObject): JsonObject {
  const dotted = Object.entries(body).filter(([key]) => DOTTED.test(key));
  if (dotted.length === 0) return body;
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
  { lenient, now, isForm = false }: { lenient: boolean; now: number; isForm?: boolean },
): LeadReading {
  const normalized = normalizeLead(body, {
    ...link,
    mode: lenient || link.mode === 'lenient' ? 'lenient' : 'strict',
    today: latestDate(now),
    isForm,
  });
  if (normalized.kind === 'refused') return { ...normalized, code: 'invalid-lead' };
  const { lead, identities, notes, consent, externalId, isTest } = normalized;
  if (link.requireIdentity && identities.length === 0 && isTest !== true)
    return { kind: 'refused', code: 'identity-required', errors: [] };
  if (externalId !== undefined) identities.unshift(externalKey(link.linkId, externalId));
  return {
    ...{ kind: 'read', lead, identities, notes },
    ...(consent !== undefined && { consent }),
    ...(isTest === true && { held: 'test' as const }),
  };
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
  return new Date(now + 14 * 3_600_000).toISOString().slice(0, 10);
}
