import { type Reading, type Refusal, readText, tooLong } from './reading.ts';
import { INVISIBLE, isLonger } from './text.ts';

/** RFC 5321, section 4.5.3.1.3, less the brackets. */
const EMAIL_LIMIT = 254;
const ADDRESS = /^[^\s@<>,;]+@[^\s@<>,;.]+(?:\.[^\s@<>,;.]+)+$/;

const NOT_AN_EMAIL: Refusal = {
  code: 'not-an-email',
  detail: 'Send one address with one @ and a dotted domain, such as name@example.com.',
};

/** An email in lower case, plus-tags and dots kept. Not proof that anybody reads it. */
export function readEmail(value: unknown): Reading {
  const text = readText(value, EMAIL_LIMIT, INVISIBLE);
  if (typeof text !== 'string') return text;
  const email = text.toLowerCase();
  // A capital İ is longer in lower case.
  if (isLonger(email, EMAIL_LIMIT)) return tooLong(EMAIL_LIMIT);
  return ADDRESS.test(email) ? email : NOT_AN_EMAIL;
}
