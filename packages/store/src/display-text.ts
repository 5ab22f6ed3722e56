import type { FieldError } from '@leadgate/contract';

const MAX_LENGTH = 200;

// Control characters, lone surrogates, line and paragraph separators, bidi overrides: what would break a line or
// show another text than the one stored.
const UNSHOWABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whether a text is a UUID, as every id is. */
export function isUuid(text: string): boolean {
  return UUID.test(text);
}

/** The text of a name or label as it is stored: NFC, without blanks around it. */
export function displayText(text: string): string {
  return text.normalize('NFC').trim();
}

/** What is wrong with a text to be shown, as the end of "The label …"; null when nothing is. */
export function displayTextFault(text: string): string | null {
  if (text === '') return 'is blank';
  if (text.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters`;
  if (UNSHOWABLE.test(text)) return 'holds a control character or a line break';
  return null;
}

/** Format characters, zero-width ones among them: with them two names look like one. */
const INVISIBLE = /\p{Cf}/u;

/** What is wrong with a name: it is asked for beside ids, and no two names may look the same. */
export function nameErrors(name: string): FieldError[] {
  return errorsOf('name', displayTextFault(name) ?? nameFault(name));
}

function nameFault(name: string): string | null {
  if (isUuid(name)) return 'looks like an id';
  return INVISIBLE.test(name) ? 'holds an invisible character' : null;
}

/** What is wrong with a label. */
export function labelErrors(label: string): FieldError[] {
  return errorsOf('label', displayTextFault(label));
}

function errorsOf(what: string, fault: string | null): FieldError[] {
  return fault === null
    ? []
    : [{ pointer: `/${what}`, code: 'invalid', detail: `The ${what} ${fault}.` }];
}
