import { ADDRESS_FIELDS, type AddressField, type Lead, type PhoneClass } from '@leadgate/contract';
import parsePhoneNumber, {
  getCountryCallingCode,
  isSupportedCountry,
  type PhoneNumber,
} from 'libphonenumber-js/max';
import {
  type Findings,
  INVISIBLE,
  isBlank,
  isJsonObject,
  isLonger,
  isMask,
  isWholeNumber,
  normalized,
  NOT_AN_OBJECT,
  own,
  type Reading,
  readText,
  readTextOrInteger,
  type Refusal,
  tooLong,
  withoutEntities,
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
const FOREIGN_DIGITS = /[\uff10-\uff19\u0660-\u0669\u06f0-\u06f9]/g;

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

/** Digits of other scripts that keyboards type into telephone fields, as ASCII. */
export function foldDigits(text: string): string {
  // Every one of these blocks starts at a multiple of 16, or (Arabic) of 10 within one.
  return text.replace(FOREIGN_DIGITS, (digit) => String(digit.charCodeAt(0) & 0x0f));
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
export function phoneClasses(key: string): PhoneClass[] {
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

const CPF = /^\d{11}$/;
/** Letters since July 2026 (Instrução Normativa RFB 2.229/2024); the check digits stay digits. */
const CNPJ = /^[0-9A-Z]{12}\d{2}$/;
/** What kind of document it is, before it or after. */
const WORDS =
  /^\W*(?:C\.?P\.?F|C\.?N\.?P\.?J|documento)\b(?:[\s.:]*\/\s*(?:CPF|CNPJ|MF)\b)?(?:\W*n(?:[ºo°]|[uú]mero)?(?=\W|\d))?/iu;
const WORDS_AFTER = /(?<!\W)\W+(?:CPF|CNPJ)$/i;
/** What stands around: brackets, colons. */
const AROUND = /^\W+|(?<!\W)\W+$/g;
const PUNCTUATION = /[\s./\u2010-\u2015-]+/g;

const CPF_WEIGHTS = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2];
const CNPJ_WEIGHTS = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2];

const NOT_A_DOCUMENT: Refusal = {
  code: 'not-a-document',
  detail:
    'Send a CPF (11 digits) or a CNPJ (14 digits or letters, the last two digits); dots, dashes and slashes may stand among them.',
};

/**
 * A CPF or CNPJ without punctuation, letters in upper case. A JSON integer has lost its leading
 * zeros: it is padded to a CPF, or to a CNPJ if it is too long for one. Check digits are not
 * looked at: see `hasRightCheckDigits`.
 */
export function readDocument(value: unknown): Reading {
  if (typeof value === 'number') return isWholeNumber(value) ? padded(value) : NOT_A_DOCUMENT;
  const text = readText(value, undefined, INVISIBLE);
  if (typeof text !== 'string') return text;
  const bare = foldDigits(text)
    .replace(AROUND, '')
    .replace(WORDS, '')
    .replace(WORDS_AFTER, '')
    .replace(AROUND, '')
    .replace(/^(\d{8,})\.0+$/, '$1');
  const document = bare.replace(PUNCTUATION, '').toUpperCase();
  if (CPF.test(document)) return document;
  // Words of fourteen letters have the form too, and one in a hundred the check digits.
  if (CNPJ.test(document))
    return /^\d+$/.test(document) ||
      (/^\D*\d.*\d\d$/.test(document) && hasRightCheckDigits(document))
      ? document
      : NOT_A_DOCUMENT;
  // A date has punctuation, and one in a hundred the check digits.
  return /^\d{8,13}$/.test(bare) ? paddedIfRight(bare) : NOT_A_DOCUMENT;
}

/** A text cell loses leading zeros as a number does; here the check digits say that it did. */
function paddedIfRight(digits: string): string | Refusal {
  const forms = [digits.padStart(14, '0'), digits.replace(/^0+/, '').padStart(11, '0')];
  const right = forms.find((form) => /^(?:.{11}|.{14})$/.test(form) && hasRightCheckDigits(form));
  return right ?? NOT_A_DOCUMENT;
}

function padded(value: number): string | Refusal {
  const digits = String(value);
  if (digits.length > 14) return NOT_A_DOCUMENT;
  return digits.padStart(digits.length > 11 ? 14 : 11, '0');
}

/**
 * Whether both check digits of a document (as `readDocument` gives it) are right. One digit
 * repeated all along passes the sum and is no document: the Receita Federal gives none out.
 */
export function hasRightCheckDigits(document: string): boolean {
  if (/^(.)\1*$/.test(document)) return false;
  const weights = document.length === 11 ? CPF_WEIGHTS : CNPJ_WEIGHTS;
  const first = checkDigit(document, weights.slice(1));
  return document.endsWith(`${first}${checkDigit(document, weights)}`);
}

/** Modulo 11 over as many characters as there are weights, each worth its ASCII code less 48. */
function checkDigit(document: string, weights: number[]): number {
  const sum = weights.reduce((sum, weight, i) => sum + weight * (document.charCodeAt(i) - 48), 0);
  const rest = sum % 11;
  return rest < 2 ? 0 : 11 - rest;
}

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Whether a text is a day of the calendar as YYYY-MM-DD. Counted, not asked of `Date`, which has a
 * time zone and rolls the 31st of February over into March.
 */
export function isCalendarDate(text: string): boolean {
  const [, year, month, day] = DATE.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && isLeap ? 29 : (DAYS[month - 1] ?? 0);
  return year > 0 && day >= 1 && day <= days;
}

const NOT_A_BIRTHDAY: Refusal = {
  code: 'not-a-birthday',
  detail: 'Send a real date as YYYY-MM-DD, from 1900-01-01 to today.',
};

/** What stands for no date: a mask's letters, zeros of MySQL, JavaScript's word. */
const NO_DATE =
  /^(?:[0\-/.]+(?:[T ][0:.]+Z?)?|[dmya]{1,4}([-/.])[dmya]{1,4}\1[dmya]{1,4}|invalid date)$/i;

/** A date of birth, YYYY-MM-DD; `today` in the same form. A timestamp is not a date. */
export function readBirthday(value: unknown, today: string): Reading {
  const text = readText(value);
  if (typeof text !== 'string') return text;
  if (NO_DATE.test(text)) return undefined;
  // Dates in this form sort as text.
  const isBirthday = isCalendarDate(text) && text >= '1900-01-01' && text <= today;
  return isBirthday ? text : NOT_A_BIRTHDAY;
}

const KNOWN = new Set<string>(ADDRESS_FIELDS);

export const isAddressKey = (key: string): boolean => KNOWN.has(key);
const NUMERIC = new Set<AddressField>(['number', 'zipCode']);

/** The address of a body, subfield by subfield; absent if nothing of it was sent. */
export function readAddress(value: unknown, findings: Findings): Lead['address'] {
  if (isBlank(value)) return undefined;
  if (!isJsonObject(value)) {
    findings.refuse(NOT_AN_OBJECT, '/address');
    return undefined;
  }
  const address: NonNullable<Lead['address']> = {};
  let isEmpty = true;
  for (const field of ADDRESS_FIELDS) {
    const read = NUMERIC.has(field) ? readTextOrInteger : readText;
    const sent = own(value, field);
    const plain = withoutEntities(sent);
    if (plain !== sent) findings.note(`/address/${field}`, 'html-entities');
    const text = findings.accept(read(plain), `/address/${field}`);
    if (text === undefined || isMask(text)) continue;
    address[field] = text;
    isEmpty = false;
  }
  for (const key of Object.keys(value)) if (!KNOWN.has(key)) findings.unknownKey(key, 'address');
  return isEmpty ? undefined : address;
}

/** Names of Brazil's states and federal district, folded as `fold` does, to their UF (IBGE). */
const UF_BY_NAME = new Map([
  ['acre', 'AC'],
  ['alagoas', 'AL'],
  ['amapa', 'AP'],
  ['amazonas', 'AM'],
  ['bahia', 'BA'],
  ['ceara', 'CE'],
  ['distrito federal', 'DF'],
  ['espirito santo', 'ES'],
  ['goias', 'GO'],
  ['maranhao', 'MA'],
  ['mato grosso', 'MT'],
  ['mato grosso do sul', 'MS'],
  ['minas gerais', 'MG'],
  ['para', 'PA'],
  ['paraiba', 'PB'],
  ['parana', 'PR'],
  ['pernambuco', 'PE'],
  ['piaui', 'PI'],
  ['rio de janeiro', 'RJ'],
  ['rio grande do norte', 'RN'],
  ['rio grande do sul', 'RS'],
  ['rondonia', 'RO'],
  ['roraima', 'RR'],
  ['santa catarina', 'SC'],
  ['sao paulo', 'SP'],
  ['sergipe', 'SE'],
  ['tocantins', 'TO'],
]);

const ACCENTS = /\p{M}+/gu;
const GAPS = /[\s-]+/g;
const fold = (name: string) =>
  normalized(name, 'NFD').replace(ACCENTS, '').replace(GAPS, ' ').toLowerCase();

/**
 * A state: two letters in upper case; the name of a Brazilian state, in any case, with or without
 * accents, as its UF, whatever the workspace's country; anything else as it is.
 */
export function readState(value: unknown): Reading {
  const text = readText(value);
  if (typeof text !== 'string') return text;
  if (/^[a-z]{2}$/i.test(text)) return text.toUpperCase();
  return UF_BY_NAME.get(fold(text)) ?? text;
}
