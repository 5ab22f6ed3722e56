import type { Lead, PhoneClass, CaptureLink, Note } from '@leadgate/contract';
import parsePhoneNumber, {
  getCountryCallingCode,
  isSupportedCountry,
  type PhoneNumber,
} from 'libphonenumber-js/max';
import {
  INVISIBLE,
  isLonger,
  isWholeNumber,
  type Reading,
  readText,
  type Refusal,
  tooLong,
  foldDigits,
} from './reading.ts';

/** RFC 5321, section 4.5.3.1.3, less the brackets. */
const EMAIL_LIMIT = 254;
/** Of a domain, what host names are made of and some servers take; the local part is the server's affair. */
const ADDRESS = /^[^\s@<>,;:\\]+@[\w-]+(?:\.[\w-]+)+$/;

/** What nearly every address is: of these characters nothing stands around it, and nothing is folded. */
const PLAIN_EMAIL = /^[a-z0-9][a-z0-9_.+-]*@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;

const NOT_AN_EMAIL: Refusal = {
  code: 'not-an-email',
  detail: 'Send one address with one @ and a dotted domain, such as name@example.com.',
};

/** An email in lower case, plus-tags and dots kept. Not proof that anybody reads it. */
export function readEmail(value: unknown): Reading {
  const text = readText(value, EMAIL_LIMIT, INVISIBLE);
  if (typeof text !== 'string') return text;
  if (PLAIN_EMAIL.test(text)) return text;
  const email = asciiDomain(unwrapped(text.replace('\uff20', '@')).toLowerCase());
  if (email === '') return undefined;
  // A capital İ is longer in lower case.
  if (isLonger(email, EMAIL_LIMIT)) return tooLong(EMAIL_LIMIT);
  return ADDRESS.test(email) ? email : NOT_AN_EMAIL;
}

const AROUND_EMAIL =
  /^[\s"'`<>()[\]\u2018-\u201f\u00ab\u00bb\u2039\u203a]+|(?<![\s"'`<>()[\]\u2018-\u201f\u00ab\u00bb\u2039\u203a.,;:!?/\\])[\s"'`<>()[\]\u2018-\u201f\u00ab\u00bb\u2039\u203a.,;:!?/\\]+$/g;
/** What stands before an address: a scheme, or what it is; and after it, as whose. */
const LABEL = /^(?:mailto|e-?mail)\s*:(?:\/\/)?([^?]*)(?:\?.*)?$/is;
const COMMENT = /^([^\s@]+@[^\s@]+)\s+\([^()@]*\)$/;

/** The address out of what stands around it: `mailto:`, `Ana <ana@…>`, quotes, a trailing dot. */
function unwrapped(text: string): string {
  const inner = /<([^<>@]*@[^<>]*)>[\s.,;]*$/.exec(text)?.[1] ?? text;
  const bare = inner
    .replace(COMMENT, '$1')
    .replace(AROUND_EMAIL, '')
    .replace(LABEL, '$1')
    .replace(AROUND_EMAIL, '');
  return bare === text ? text : unwrapped(bare);
}

/** One domain for both spellings of an international one: its ASCII form (RFC 5891). */
function asciiDomain(email: string): string {
  const at = email.lastIndexOf('@');
  const domain = email.slice(at + 1);
  if (at === -1 || /^[\x20-\x7e]*$/.test(domain) || /[\s<>,;%/:?#\\@[\]]/.test(domain))
    return email;
  return `${email.slice(0, at + 1)}${hostOf(domain)}`;
}

/** As a browser writes it; empty if it is no domain. */
function hostOf(domain: string): string {
  try {
    return new URL(`http://${domain}`).hostname;
  } catch {
    return '';
  }
}

const NOT_A_TELEPHONE: Refusal = {
  code: 'not-a-telephone',
  detail:
    'Send 8 to 15 digits. Spaces, dots, dashes, brackets and a leading + may stand among them; letters may not.',
};

const LETTER_OR_OTHER_NUMBER = /[\p{L}\p{N}]/u;

/**
 * A telephone as its digits, 8 to 15 of them (E.164 allows 15). A JSON integer is accepted;
 * full-width and Arabic digits are folded.
 */
export function readTelephone(value: unknown): Reading {
  if (typeof value === 'number')
    return isWholeNumber(value) ? digitsOf(String(value)) : NOT_A_TELEPHONE;
  const text = readText(value, undefined, INVISIBLE);
  if (typeof text !== 'string') return text;
  const { first } = splitPhones(text);
  // What a mask or a list of countries leaves: a code alone, or places that nobody filled in.
  const bare = first.replace(/[^\p{L}\p{N}+]/gu, '');
  if (/^\+*$|^\+\d{1,3}$/.test(bare) || /_.*_/.test(first)) return undefined;
  return digitsOf(first);
}

/**
 * The first of the numbers that a text holds, without what is no part of one: the placeholder of a
 * carrier (`0xx11`), a country code that is written twice (`+55+5511…`), the `.0` of a spreadsheet.
 */
export function splitPhones(text: string): SplitPhones {
  if (split.text !== text) split = { text, ...firstOf(text) };
  return split;
}

interface SplitPhones {
  first: string;
  isOneOfSeveral: boolean;
}

/** The last one: each lead asks it of its telephone several times. */
let split = { text: '', first: '', isOneOfSeveral: false };

function firstOf(text: string): SplitPhones {
  const folded = foldDigits(text);
  const [part = '', ...others] = folded.split(/[/;,|\n]|\s(?:ou|or|e|y|o)\s/i);
  const isOneOfSeveral = others.length > 0 && countDigits(part) >= 8;
  const one = isOneOfSeveral ? part : folded;
  const first = one
    .trim()
    .replace(/^((?:\+?55)?[\s(]*0\s?)x{1,3}/i, '$1')
    .replace(/^(\+?\d{8,})\.0+$/, '$1')
    .replace(/^\(?\+\s*\d{1,3}[\s()]*(?=\+)/, '');
  return { first, isOneOfSeveral };
}

const countDigits = (text: string): number => text.replace(/\D+/g, '').length;

/** Whether a telephone was sent with a + before its first digit: its country code is its own. */
export function isInternational(value: unknown): boolean {
  return typeof value === 'string' && /^[^\d]*[+\uff0b]/.test(splitPhones(value).first);
}

function digitsOf(text: string): string | Refusal {
  const digits = text.replace(/\D+/g, '');
  const isClean = !LETTER_OR_OTHER_NUMBER.test(text.replace(/\d+/g, ''));
  return isClean && digits.length >= 8 && digits.length <= 15 ? digits : NOT_A_TELEPHONE;
}

/**
 * A phone as it is compared: E.164, or its digits if they are no valid number.
 *
 * `digits` are 8 to 15 digits; `international` says that a + was written before them, so that they
 * begin with a country code. Without it they are read as a number of `country` (with or without
 * its own country code, trunk zero and carrier code), then with a country code of their own. A +
 * written before a national number is common too, so that is tried last.
 *
 * Validity is judged with the complete metadata of libphonenumber: the small one takes
 * `12125550123` for Brazilian, and whoever left out the + of an American number would become
 * another person.
 */
export function phoneKey(
  digits: string,
  { country, international }: { country: string; international: boolean },
): string {
  const isAbroadFirst = international || digits.startsWith('00');
  const plain = plainBrazilian(digits, { country, isAbroadFirst });
  if (plain !== undefined) return plain;
  const withCode = digits.replace(/^00/, '');
  const abroad = () => validNumber(`+${withoutMarks(withCode, (mark) => mark.abroad)}`);
  const home = withoutMarks(digits, (mark) => (mark.country === country ? mark.home : undefined));
  const atHome = () => validNumber(home, country);
  const number = isAbroadFirst ? (abroad() ?? atHome()) : (atHome() ?? abroad());
  return number ?? withoutRepeatedCode(withCode, country) ?? digits;
}

/** A number whose country's code stands twice, as when somebody fills in what a form has before it. */
function withoutRepeatedCode(digits: string, country: string): string | undefined {
  const code = isSupportedCountry(country) ? getCountryCallingCode(country) : '';
  if (code === '' || !digits.startsWith(`${code}${code}`)) return undefined;
  return validNumber(`+${digits.slice(code.length)}`);
}

/** Area codes and what may follow: nine digits of a mobile number, eight of a landline (Anatel). */
const BRAZILIAN = /^(?:[14689][1-9]|2[12478]|3[1-578]|5[13-5]|7[13-579])(?:9\d{8}|[2-5]\d{7})$/;

/**
 * The key of a Brazilian number that is written in full, with or without its country's code; undefined
 * for all else. libphonenumber comes to the same, as a property of the tests says, in twenty times as long.
 */
function plainBrazilian(
  digits: string,
  { country, isAbroadFirst }: { country: string; isAbroadFirst: boolean },
): string | undefined {
  if (isAbroadFirst ? digits.startsWith('00') : country !== 'BR') return undefined;
  const hasCode = digits.length > 11;
  if (hasCode ? !digits.startsWith('55') : isAbroadFirst) return undefined;
  const national = hasCode ? digits.slice(2) : digits;
  return BRAZILIAN.test(national) ? `+55${national}` : undefined;
}

/**
 * The classes that a phone key is of. `repeated`: one digit all through the subscriber's number,
 * which follows a three-digit area code in North America and is the last eight digits elsewhere (in
 * Brazil less the ninth digit, which the same number may be written without). `impossible`: no
 * valid number, so that the key is its digits.
 */
function phoneClasses(key: string): PhoneClass[] {
  const classes: PhoneClass[] = [];
  if (/(\d)\1{7}$/.test(key) || /^\+1\d{3}(\d)\1{6}$/.test(key)) classes.push('repeated');
  if (!key.startsWith('+')) classes.push('impossible');
  return classes;
}

function validNumber(text: string, country?: string): string | undefined {
  const defaultCountry = country !== undefined && isSupportedCountry(country) ? country : undefined;
  const parsed = parsePhoneNumber(text, {
    extract: false,
    ...(defaultCountry !== undefined && { defaultCountry }),
  });
  if (parsed === undefined) return undefined;
  const number = withNinthDigit(parsed) ?? parsed;
  if (!number.isValid()) return undefined;
  return `+${withoutMarks(number.number.slice(1), (mark) => mark.abroad)}`;
}

/**
 * Marks that depend on who calls and are no part of a number: after the country's code when it is
 * called from abroad, and before the number at home, if libphonenumber does not know them.
 */
interface Mark {
  country: string;
  /** Matches a code and its mark; the code is captured. */
  abroad: RegExp;
  home?: RegExp;
}

const MARKS: readonly Mark[] = [
  // The 9 of mobile numbers, in place of the 15 at home (ENACOM, Plan Fundamental de Numeración).
  { country: 'AR', abroad: /^(54)9(?=\d{10}$)/ },
  // The 0 before mobile numbers, until all numbers had nine digits (Subtel, 2016).
  { country: 'CL', abroad: /^(56)0(?=9\d{8}$)/, home: /^()0(?=9\d{8}$)/ },
  // Ten digits from everywhere since 3 August 2019 (IFT): before, 1 from abroad and 01, 044, 045.
  {
    country: 'MX',
    abroad: /^(52)(?:1|01|044|045)(?=\d{10}$)/,
    home: /^()(?:01|044|045)(?=\d{10}$)/,
  },
];

function withoutMarks(digits: string, of: (mark: Mark) => RegExp | undefined): string {
  for (const mark of MARKS) {
    const pattern = of(mark);
    if (pattern?.test(digits) === true) return digits.replace(pattern, '$1');
  }
  return digits;
}

/**
 * The mobile number that an old one of eight digits, the first of them 6 to 9, was renumbered to;
 * undefined if the number is not one. Every area has nine digits since 2016 (Anatel, Resolução
 * 553/2010).
 */
function withNinthDigit(number: PhoneNumber): PhoneNumber | undefined {
  if (number.countryCallingCode !== '55') return undefined;
  const old = /^([1-9]{2})([6-9]\d{7})$/.exec(number.nationalNumber);
  return old === null ? undefined : parsePhoneNumber(`+55${old[1]}9${old[2]}`);
}

/** Whether a text is the code of a country (ISO 3166-1 alpha-2, upper case) whose phones are known. */
export function isPhoneCountry(text: string): boolean {
  return isSupportedCountry(text);
}

/** How a workspace reads telephones: its country, and those that identify nobody. */
export type PhoneRules = Pick<CaptureLink, 'country' | 'dummyPhones' | 'dummyClasses'>;

export interface IdentityOptions extends PhoneRules {
  /**
   * Whether the telephone was sent with a + before it. A lead does not remember; without it, the
   * digits of a foreign number may be read as one of `country`.
   */
  international?: boolean;
}

/**
 * The keys by which a lead is known again: `email:<normal form>`, then `phone:<E.164>` (or
 * `phone:<digits>` if they are no valid number). A phone of a class that no person has is noted, and
 * is a key all the same unless the workspace says otherwise; one that it lists is none.
 */
export function identityKeys(
  lead: Lead,
  options: IdentityOptions,
): { keys: string[]; notes: Note[] } {
  const keys: string[] = [];
  const notes: Note[] = [];
  if (lead.email !== undefined) keys.push(`email:${lead.email}`);
  if (lead.telephone !== undefined) {
    const { country, dummyPhones, dummyClasses = [], international = false } = options;
    const phone = phoneKey(lead.telephone, { country, international });
    const classes = phoneClasses(phone);
    if (classes.length > 0)
      notes.push({ field: '/telephone', code: 'placeholder-phone', detail: classes.join(', ') });
    const isDummy = classes.some((name) => dummyClasses.includes(name));
    if (isDummy || isListed(phone, dummyPhones, country))
      notes.push({ field: '/telephone', code: 'dummy-phone' });
    else keys.push(`phone:${phone}`);
  }
  return { keys, notes };
}

/** By the list, which lives as long as its link is cached. */
const listedKeys = new WeakMap<readonly string[], { country: string; keys: Set<string> }>();

/** Whether a phone is on a list, in whatever form an operator wrote it there. */
function isListed(phone: string, list: readonly string[], country: string): boolean {
  if (list.length === 0) return false;
  let listed = listedKeys.get(list);
  if (listed?.country !== country) {
    const keyOf = (entry: string) =>
      phoneKey(entry.replace(/\D+/g, ''), { country, international: isInternational(entry) });
    listed = { country, keys: new Set(list.map(keyOf)) };
    listedKeys.set(list, listed);
  }
  return listed.keys.has(phone);
}

/** What a phone is compared by under a country, in whatever form it is typed; null if it is none. */
export function phoneKeyOf(text: string, country: string): string | null {
  const digits = readTelephone(text);
  if (typeof digits !== 'string') return null;
  return phoneKey(digits, { country, international: isInternational(text) });
}

/** An email or telephone as leads hold it, and what identifies it in each workspace. */
export interface ContactKeys {
  email?: string;
  telephone?: string;
  identities: { workspaceId: string; key: string }[];
}

/**
 * What to look for to find the leads of an email or a telephone, as somebody typed it: the country
 * of each workspace decides how a phone is read. Null if it is no whole email or telephone.
 */
export function contactKeys(
  contact: { email: string } | { telephone: string },
  workspaces: readonly { id: string; country: string }[],
): ContactKeys | null {
  const isEmail = 'email' in contact;
  const text = isEmail ? readEmail(contact.email) : readTelephone(contact.telephone);
  if (typeof text !== 'string' || workspaces.length === 0) return null;
  const lead = isEmail ? { email: text } : { telephone: text };
  const international = !isEmail && isInternational(contact.telephone);
  const keysOf = (country: string) =>
    identityKeys(lead, { country, dummyPhones: [], international }).keys;
  return {
    ...lead,
    identities: workspaces.flatMap(({ id: workspaceId, country }) =>
      keysOf(country).map((key) => ({ workspaceId, key })),
    ),
  };
}
