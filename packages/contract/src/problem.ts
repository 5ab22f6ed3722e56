import { Type, type Static, type TSchema } from 'typebox';

/** Every error a sender can meet: its HTTP status and a title that does not vary. */
export const PROBLEMS = {
  'malformed-request': { status: 400, title: 'This is not a valid HTTP request.' },
  'malformed-json': { status: 400, title: 'The body is not valid JSON.' },
  'malformed-form': { status: 400, title: 'The body is not a valid multipart form.' },
  'empty-body': { status: 400, title: 'The body is empty.' },
  'origin-not-allowed': { status: 403, title: 'This link does not accept leads from this origin.' },
  'sender-not-proven': {
    status: 403,
    title: 'The secret or signature that this link asks for is missing or wrong.',
  },
  'unknown-link': { status: 404, title: 'There is no such capture link.' },
  'not-found': { status: 404, title: 'There is nothing at this address.' },
  'method-not-allowed': { status: 405, title: 'This address takes POST only.' },
  'request-timeout': { status: 408, title: 'The request took too long to arrive.' },
  'link-closed': { status: 410, title: 'This capture link no longer accepts leads.' },
  'body-too-large': {
    status: 413,
    title: 'The body is larger than 64 KiB, or its files than 10 MiB.',
  },
  'unsupported-media-type': {
    status: 415,
    title:
      'Send JSON (application/json), JSON as text/plain, or a form, uncompressed, in UTF-8, UTF-16 or windows-1252.',
  },
  'invalid-lead': { status: 422, title: 'Some fields cannot be accepted.' },
  'idempotency-key-reused': {
    status: 422,
    title:
      'This Idempotency-Key was used with another body. Send another lead under a key of its own.',
  },
  'identity-required': { status: 422, title: 'This link needs an email or a telephone.' },
  'rate-limited': { status: 429, title: 'Too many requests. Try again later.' },
  'headers-too-large': { status: 431, title: 'The headers of the request are too large.' },
  internal: { status: 500, title: 'Something went wrong on our side.' },
  unavailable: { status: 503, title: 'The lead could not be stored now. Try again shortly.' },
  overloaded: { status: 503, title: 'Too much is waiting. Try again shortly.' },
} as const;
export type ProblemCode = keyof typeof PROBLEMS;

export const FieldError = Type.Object({
  pointer: Type.String({ description: 'JSON pointer (RFC 6901) to the bad field.' }),
  code: Type.String({ description: 'Stable, for programs.' }),
  detail: Type.String({ description: 'For people: what is wrong and what would be right.' }),
});
export type FieldError = Static<typeof FieldError>;

/** The body of every error answer: application/problem+json (RFC 9457). `code`: those it may have. */
export const problemSchema = <Code extends TSchema>(code: Code) =>
  Type.Object(
    {
      type: Type.String(),
      title: Type.String(),
      status: Type.Integer(),
      code,
      detail: Type.Optional(Type.String()),
      errors: Type.Optional(Type.Array(FieldError)),
    },
    { $id: 'Problem', description: 'application/problem+json (RFC 9457)' },
  );

export const Problem = problemSchema(Type.Unsafe<ProblemCode>(Type.Enum(Object.keys(PROBLEMS))));
export type Problem = Static<typeof Problem>;

/** Builds the problem for a code. */
export function problem(
  code: ProblemCode,
  more: { detail?: string; errors?: FieldError[] } = {},
): Problem {
  return {
    type: 'about:blank',
    title: PROBLEMS[code].title,
    status: PROBLEMS[code].status,
    code,
    ...more,
  };
}

const uuid = (description: string) => Type.String({ format: 'uuid', description });

/** What became of one row of a list: it was accepted, or refused and kept for an operator. */
const RowReceipt = Type.Object({
  leadId: Type.Optional(uuid('The lead that was created or updated.')),
  submissionId: Type.Optional(uuid('Of this row.')),
  code: Type.Optional(Type.String({ description: 'Why it was refused.' })),
  errors: Type.Optional(Type.Array(FieldError)),
});
export type RowReceipt =
  { leadId: string; submissionId: string } | { code: ProblemCode; errors: FieldError[] };

/** The answer to an accepted POST. */
export const Receipt = Type.Object(
  {
    leadId: uuid(
      'The lead that was created or updated; of a list, that of the first row accepted.',
    ),
    leads: Type.Optional(
      Type.Array(RowReceipt, {
        description:
          'Of a list, which a link with a mapping may take: what became of each row, in their order.',
      }),
    ),
  },
  { $id: 'Receipt' },
);
export type Receipt = Static<typeof Receipt>;
