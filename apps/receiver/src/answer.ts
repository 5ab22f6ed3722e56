import type { FastifyReply } from 'fastify';
import { type FieldError, problem, type ProblemCode } from '@leadgate/contract';
import { sendProblemPage, wantsPage } from './answer-page.ts';

/** What a request came to, for the counts and the log. */
export type Answer = 'accepted' | ProblemCode;

declare module 'fastify' {
  interface FastifyRequest {
    answer: Answer | null;
  }
}

/** How long a sender waits before trying again what could not be stored, in seconds. */
const RETRY_SECONDS = 5;

export interface ProblemDetails {
  errors?: FieldError[];
  retryAfterSeconds?: number;
}

/**
 * Answers with a problem (RFC 9457), its status, and Retry-After if trying again makes sense. Where
 * a form was sent without a script, a person reads it: as a page then.
 */
export function sendProblem(
  reply: FastifyReply,
  code: ProblemCode,
  { errors, retryAfterSeconds }: ProblemDetails = {},
): FastifyReply {
  const body = problem(code, errors && { errors });
  const retryAfter = retryAfterSeconds ?? (body.status === 503 ? RETRY_SECONDS : undefined);
  if (retryAfter !== undefined) reply.header('retry-after', Math.max(1, Math.ceil(retryAfter)));
  const { request } = reply;
  request.answer = code;
  reply.code(body.status);
  if (wantsPage(request.method, request.headers)) return sendProblemPage(reply, code, errors ?? []);
  return reply.type('application/problem+json').send(body);
}
