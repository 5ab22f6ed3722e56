import { type FieldError, problemSchema } from '@leadgate/contract';
import { Erased, type Refusal } from '@leadgate/operations';
import type { FastifyReply } from 'fastify';
import { Type, type Static } from 'typebox';

/** Every error that the operators' API answers: its status and a title that does not vary. */
const PROBLEMS = {
  'malformed-request': { status: 400, title: 'The request is not valid.' },
  'not-signed-in': { status: 401, title: 'Sign in, or send an API token, first.' },
  'not-allowed': { status: 403, title: 'A viewer may look and not act.' },
  'cross-site': { status: 403, title: 'The request does not come from a page of this console.' },
  'not-offered': { status: 403, title: 'The dashboard does not do this.' },
  'not-found': { status: 404, title: 'There is no such thing here.' },
  conflict: { status: 409, title: 'Something else stands in the way.' },
  erased: { status: 410, title: 'It was erased.' },
  'body-too-large': { status: 413, title: 'The body is too large.' },
  'unsupported-media-type': { status: 415, title: 'Send JSON (application/json).' },
  invalid: { status: 422, title: 'Some fields cannot be accepted.' },
  slowed: { status: 429, title: 'Too many tries. Wait a moment.' },
  internal: { status: 500, title: 'Something went wrong on our side.' },
  unavailable: { status: 503, title: 'Redis or Postgres does not answer now.' },
} as const;
export type ProblemCode = keyof typeof PROBLEMS;

/** As of the receiver, with codes of its own. */
const Base = problemSchema(Type.String({ description: 'Stable, for programs.' }));
export const ConsoleProblem = Type.Object(
  { ...Base.properties, erasure: Type.Optional(Erased) },
  { $id: 'Problem', description: 'application/problem+json (RFC 9457)' },
);
export type ConsoleProblem = Static<typeof ConsoleProblem>;

/** What every route of the API may answer besides what it promises. */
export const PROBLEM_ANSWERS = { '4xx': Type.Ref('Problem'), '5xx': Type.Ref('Problem') };

export interface ProblemDetails {
  detail?: string;
  errors?: FieldError[];
  retryAfterSeconds?: number;
  erasure?: Erased;
}

/** What a route throws to answer with a problem; the error handler sends it. */
export class ProblemError extends Error {
  override name = 'ProblemError';
  readonly code: ProblemCode;
  readonly details: ProblemDetails;

  constructor(code: ProblemCode, details: ProblemDetails = {}) {
    super(details.detail ?? PROBLEMS[code].title);
    this.code = code;
    this.details = details;
  }
}

export function problemOf({ detail, errors, erasure }: Refusal): ProblemDetails {
  return {
    detail,
    ...(errors !== null && { errors: [...errors] }),
    ...(erasure !== null && { erasure }),
  };
}

/** Answers with a problem and its status. */
export function sendProblem(
  reply: FastifyReply,
  code: ProblemCode,
  { detail, errors, retryAfterSeconds, erasure }: ProblemDetails = {},
): FastifyReply {
  const { status, title } = PROBLEMS[code];
  if (retryAfterSeconds !== undefined) reply.header('retry-after', Math.ceil(retryAfterSeconds));
  const body: ConsoleProblem = {
    type: 'about:blank',
    title,
    status,
    code,
    ...(detail !== undefined && { detail }),
    ...(errors !== undefined && { errors }),
    ...(erasure !== undefined && { erasure }),
  };
  return reply
    .code(status)
    .type('application/problem+json')
    .serializer((value: unknown) => JSON.stringify(value))
    .send(body);
}
