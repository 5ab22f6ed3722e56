import { Type, type Static } from 'typebox';

/** What the service did to a value, by code. Never an error to the sender. */
export const NOTE_CODES = {
  'unknown-key': 'The key is not a field of a lead; it was ignored.',
  'unknown-keys-dropped': 'The unknown keys said more than 8 KiB; those beyond are not kept.',
  'set-aside': 'The value was refused; the rest of the lead was accepted (lenient).',
  cut: 'The value was longer than allowed and was cut.',
  'html-entities': 'Characters were sent as HTML writes them; they are what they stand for.',
  'first-of-several': 'Several values were sent for one field; the first counts.',
  'nothing-recognised':
    'No key of the body is a field of a lead, or its mapping found nothing; it was accepted without facts.',
  'not-utf-8': 'The body was not UTF-8 and did not say so; it was read as windows-1252.',
  'file-dropped': 'A file was sent with the form; it was not kept.',
  'check-digits': 'The check digits of the document are wrong; it was kept.',
  'placeholder-phone': 'No person has this phone: one repeated digit, or no number of any plan.',
  'shared-phone':
    'Its lead has three emails or more: the phone may be nobody’s. leadgate lead split takes it apart.',
  'dummy-phone': 'The workspace says that this phone identifies nobody; it was kept and is no key.',
  'too-many-identities': 'The lead has as many identities as it may; this one was not remembered.',
  'not-matched':
    'Its sender brought too many known people together; this one was kept and identifies nobody.',
  'unknown-custom-field': 'No custom field has this id, name or label; it was ignored.',
  'ambiguous-custom-field': 'More than one custom field has this label; it was ignored.',
  'top-level-custom-field':
    'The key stood at the top level of a form and is the name of a custom field; it was taken.',
  'overridden-custom-field': 'Another key of the same body names the same custom field and wins.',
  'invalid-custom-value': 'The custom field cannot take this value; it was ignored.',
  'captcha-unchecked': 'The CAPTCHA could not be checked; the link takes such leads.',
  'key-of-another-body':
    'The idempotency key belongs to another body; it was accepted all the same.',
} as const;
export type NoteCode = keyof typeof NOTE_CODES;

export const Note = Type.Object(
  {
    field: Type.String({ description: 'JSON pointer (RFC 6901) into the body as sent.' }),
    code: Type.Unsafe<NoteCode>(Type.Enum(Object.keys(NOTE_CODES))),
    detail: Type.Optional(Type.String({ description: 'Never holds the value itself.' })),
  },
  { additionalProperties: false },
);
export type Note = Static<typeof Note>;
