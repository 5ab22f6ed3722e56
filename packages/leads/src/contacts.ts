import { decodeFormText } from './body.ts';
import { readEmail } from './email.ts';
import { phoneKeyOf } from './identity.ts';
import { foldDigits } from './telephone.ts';

/** Parts of a text that may be an email, whatever stands around them: quotes, `=` and `&` of a URL. */
const EMAILS =
  /(?<![^\s@<>,;:"'()[\]{}\\=&?|])[^\s@<>,;:"'()[\]{}\\=&?|]+@[^\s@<>,;:"'()[\]{}\\=&?|#/%]+\.[^\s@<>,;:"'()[\]{}\\=&?|#/%]+/g;
const PHONES = /[+(]?\d[\d\s().\-/]{6,24}\d/g;
/** No field that is a contact is longer; a longer text is only looked through. */
const LONGEST_CONTACT = 300;

/**
 * The identity keys of all emails and telephones that stand anywhere in a JSON value: in texts, keys,
 * numbers, and within a text that is JSON or a form itself, as bodies are kept. Finds a person in what
 * could not be read as a lead; a number that is none may be among them.
 */
export function contactsIn(value: unknown, country: string): string[] {
  const keys = new Set<string>();
  for (const text of textsOf(value, new Set())) {
    for (const email of emailsOf(text)) keys.add(`email:${email}`);
    for (const phone of phonesOf(text, country)) keys.add(`phone:${phone}`);
  }
  return [...keys];
}

/** Every text of a value, and what it says if it is written in an encoding. Each once. */
function textsOf(value: unknown, texts: Set<string>): Set<string> {
  if (typeof value === 'number') texts.add(String(value));
  else if (typeof value === 'string') {
    if (texts.has(value)) return texts;
    texts.add(value);
    if (/[%+]/.test(value)) textsOf(decodeFormText(value).text, texts);
    if (/\\[u/]/.test(value)) textsOf(parsed(value), texts);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      textsOf(key, texts);
      textsOf(item, texts);
    }
  }
  return texts;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function emailsOf(text: string): string[] {
  if (!/[@\uff20]/.test(text)) return [];
  const whole = text.length <= LONGEST_CONTACT ? [text] : [];
  return [...whole, ...(text.match(EMAILS) ?? [])]
    .map(readEmail)
    .filter((email) => typeof email === 'string');
}

function phonesOf(text: string, country: string): string[] {
  const digits = foldDigits(text);
  const whole = text.length <= LONGEST_CONTACT ? [text] : [];
  return [...whole, ...(digits.match(PHONES) ?? [])]
    .map((part) => phoneKeyOf(part, country))
    .filter((phone) => phone !== null);
}
