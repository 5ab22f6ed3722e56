/** Printable ASCII, which is most of what is sent: nothing in it to normalise or remove. */
const PLAIN = /^[\x20-\x7e]*$/;
const CONTROLS = /(?![\t\n])\p{Cc}/gu;
const LONE_SURROGATES = /\p{Surrogate}/gu;
const ALL_INVISIBLE = /^[\p{White_Space}\p{Cf}\p{Default_Ignorable_Code_Point}]*$/u;

/**
 * Zero-width characters, bidi controls, soft hyphens, variation selectors: pasted along unseen, and
 * fatal to an address or a number that is compared with another.
 */
export const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * Bidi embeddings, overrides and isolates, which make a name read as another. The marks that right
 * to left names are typed with (LRM, RLM, ALM) and the joiners of emoji are not among them.
 */
export const BIDI_OVERRIDES = /[\u202a-\u202e\u2066-\u2069]/g;

/**
 * A text in a normal form of Unicode. The marks of a letter are put in order in a time that grows with their
 * square: of more than 30 in a row, which no language writes (UAX #15, stream-safe text), the others go.
 */
export function normalized(text: string, form: 'NFC' | 'NFD' | 'NFKD'): string {
  const bounded = text.length < LONG ? text : text.replace(MANY_MARKS, '$1');
  return bounded.normalize(form);
}

const LONG = 500;
/** The last two are marks in NFKD. */
const MANY_MARKS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu;

/**
 * A text as it is stored: NFC, trimmed, without control characters but tab and newline, lone
 * surrogates as U+FFFD (Postgres takes neither NUL nor a lone surrogate). Empty if nothing of it
 * can be seen. `drop` names characters to remove besides.
 */
export function cleanText(text: string, drop?: RegExp): string {
  if (PLAIN.test(text)) return text.trim();
  const kept = drop === undefined ? text : text.replace(drop, '');
  const clean = normalized(
    kept.replace(LONE_SURROGATES, '\ufffd').replace(CONTROLS, ''),
    'NFC',
  ).trim();
  return ALL_INVISIBLE.test(clean) ? '' : clean;
}

/** Whether `text` can be stored as it is: nothing in it that `cleanText` removes or replaces. */
export function isStorable(text: string): boolean {
  return PLAIN.test(text) || (text.search(CONTROLS) < 0 && text.search(LONE_SURROGATES) < 0);
}

/** `text` with what cannot be stored replaced by U+FFFD. */
export function storable(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(LONE_SURROGATES, '\ufffd').replace(CONTROLS, '\ufffd');
}

/** Whether a text has more than `max` code points. */
export function isLonger(text: string, max: number): boolean {
  return cutText(text, max) !== text;
}

/** The first `max` code points of a text: never half a surrogate pair. */
export function cutText(text: string, max: number): string {
  // No code point is shorter than one unit, so most texts are measured without walking them.
  if (text.length <= max) return text;
  let end = 0;
  for (let count = 0; count < max && end < text.length; count += 1)
    end += text.codePointAt(end)! > 0xffff ? 2 : 1;
  return end === text.length ? text : text.slice(0, end);
}

/**
 * Orders texts by code point, as Postgres does in the C collation. JavaScript's own order is by
 * UTF-16 unit, which puts emoji before U+E000.
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x !== y) return rankOf(x) - rankOf(y);
  }
  return a.length - b.length;
}

/** Surrogates stand for code points above every other unit. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/**
 * A text as names of custom fields and their options are compared: NFC, trimmed, without regard to
 * case. `Profissão`, ` PROFISSÃO ` and its decomposed form are one.
 */
export function customFieldKey(text: string): string {
  // Upper case first, because lower case alone keeps ß from SS, and ς from σ.
  const known = normalized(text, 'NFC').trim().toUpperCase().toLowerCase();
  return normalized(known, 'NFC');
}
