import { type Reading, type Refusal, readText, tooLong } from './reading.ts';
import { INVISIBLE, isLonger } from './text.ts';

/** RFC 5321, section 4.5.3.1.3, less the brackets. */
const EMAIL_LIMIT = 254;
/** Of a domain, what host names are made of and some servers take; the local part is the server's affair. */
const ADDRESS = /^[^\s@<>,;:\\]+@[\w-]+(?:\.[\w-]+)+$/;

const NOT_AN_EMAIL: Refusal = {
  code: 'not-an-email',
  detail: 'Send one address with one @ and a dotted domain, such as name@example.com.',
};

/** An email in lower case, plus-tags and dots kept. Not proof that anybody reads it. */
export function readEmail(value: unknown): Reading {
  const text = readText(value, EMAIL_LIMIT, INVISIBLE);
  if (typeof text !== 'string') return text;
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
