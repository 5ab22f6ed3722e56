import type { Consent } from '@leadgate/contract';
import {
  type Findings,
  NOT_AN_OBJECT,
  type Refusal,
  booleanOfWord,
  isBlank,
  isJsonObject,
  jsonPointer,
  own,
  readText,
  readTextOrInteger,
} from './reading.ts';
import { cleanText, cutText } from './text.ts';

/** Room for a whole privacy notice. */
const TEXT_LIMIT = 10_000;

const NOT_A_BOOLEAN: Refusal = { code: 'not-a-boolean', detail: 'Send true or false.' };

const KNOWN = new Set(['given', 'text', 'textVersion', 'language']);

export const isConsentKey = (key: string): boolean => KNOWN.has(key);

/** The form of a BCP 47 tag (RFC 5646, 2.1), as long as any that is in use. */
const LANGUAGE = /^[a-z]{2,8}(?:-[a-z0-9]{1,8}){0,4}$/i;

/**
 * The consent of a body; absent if nothing of it was sent. It counts as given only where that is
 * said: a checkbox that is not ticked sends nothing, and only the words beside it arrive. One whose
 * value is these words says all by itself, be it named `consent` or `consent.given`.
 */
export function readConsent(value: unknown, findings: Findings): Consent | undefined {
  if (isBlank(value)) return undefined;
  if (!isJsonObject(value)) {
    const given = booleanOf(value);
    if (given !== undefined) return { given };
    const text = wordsOf(value);
    if (text !== undefined) return { given: !REFUSAL.test(text), text };
    findings.refuse(NOT_AN_OBJECT, '/consent');
    return undefined;
  }
  const sent = own(value, 'given');
  const agreed = isBlank(sent) ? undefined : (booleanOf(sent) ?? wordsOf(sent));
  if (!isBlank(sent) && agreed === undefined) findings.refuse(NOT_A_BOOLEAN, '/consent/given');
  const given = typeof agreed === 'string' ? !REFUSAL.test(agreed) : agreed;
  const words = typeof agreed === 'string' ? agreed : undefined;
  const text = findings.accept(readText(own(value, 'text'), TEXT_LIMIT), '/consent/text') ?? words;
  const textVersion = findings.accept(
    readTextOrInteger(own(value, 'textVersion')),
    '/consent/textVersion',
  );
  const language = readLanguage(own(value, 'language'), findings);
  for (const key of Object.keys(value))
    if (!KNOWN.has(key)) findings.unknownKey(() => jsonPointer('consent', key));
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

/** The words of an option to refuse, as `Não aceito` among radio buttons; a notice that begins so is none. */
const REFUSAL =
  /^(?:(?:eu |yo )?n[ãa]?o,? (?:aceito|autorizo|concordo|quero|acepto|estoy de acuerdo|quiero|thanks?)|I (?:do not|don['’]t) (?:accept|agree|consent|want)|recus[oa]|rechazo|rejeito|decline|refuse|reject)\b[^.;:]{0,40}[.!]?$/i;

/** The value of a ticked checkbox is the words beside it: what is no refusal was agreed to. */
function wordsOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  return cutText(cleanText(value), TEXT_LIMIT).trimEnd() || undefined;
}
