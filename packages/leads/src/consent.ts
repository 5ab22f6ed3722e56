import type { Consent } from '@leadgate/contract';
import {
  type Findings,
  NOT_AN_OBJECT,
  type Refusal,
  booleanOfWord,
  isBlank,
  isJsonObject,
  isMask,
  own,
  readText,
  readTextOrInteger,
} from './reading.ts';
import { cleanText, cutText, normalized } from './text.ts';

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
export function readConsent(value: unknown, findings: Findings): Consent | undefined {
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
  for (const key of Object.keys(value)) if (!CONSENT_KEYS.has(key)) findings.unknownKey(key, 'consent');
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
