import type { FieldError } from '@leadgate/contract';
import type { FastifyRequest, FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Value } from 'typebox/value';
import { ProblemError } from './problem.ts';

/**
 * Checks requests against their schemas. Query strings and parameters are text, so their numbers
 * and booleans are read first; a body is taken as it is: null is not 0. Names every fault at once.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const validator = Compile(schema);
  return (input: unknown) => {
    const value = httpPart === 'body' ? input : Value.Convert(schema, Value.Clone(input));
    if (validator.Check(value)) return { value };
    const error: FastifySchemaValidationError[] = validator.Errors(value).map((fault) => ({
      keyword: fault.keyword,
      instancePath: fault.instancePath,
      schemaPath: fault.schemaPath,
      params: {},
      message: fault.message,
    }));
    return { error };
  };
};

/**
 * Refuses a request of the API with a parameter in its query that it does not take: answered as if the
 * parameter counted, it would say something else than was asked.
 */
export function refuseUnknownQuery({ query, routeOptions, is404 }: FastifyRequest): void {
  const { url = '', schema } = routeOptions;
  if (is404 || !url.startsWith('/api/')) return;
  const { properties } = { properties: {}, ...(schema?.querystring as object | undefined) };
  const known = Object.keys(properties);
  const unknown = Object.keys(query as object).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const takes = known.length === 0 ? 'there is none' : `there are ${known.join(', ')}`;
  throw new ProblemError('malformed-request', {
    detail: `The query has a parameter that is none here: ${takes}.`,
    errors: unknown.slice(0, 20).map((name) => ({
      pointer: `/${name.slice(0, 100)}`,
      code: 'unknown-parameter',
      detail: `It takes no such parameter: ${takes}.`,
    })),
  });
}

/** Texts that Postgres cannot hold: with U+0000, or half a surrogate pair, which has no UTF-8. */
const isStorable = (text: string): boolean => !/[\0\p{Cs}]/u.test(text);

/** Far deeper than anything that is asked for, and far from the end of the stack, which 64 KiB of `[` reach. */
const DEEPEST = 100;

/**
 * Refuses a request with a text that could be neither stored nor looked for, in a key or a value,
 * whatever it is for, and one that is nested deeper than what reads it can go. Files that are imported are
 * read elsewhere.
 */
export function refuseUnstorable({ params, query, body }: FastifyRequest): void {
  for (const part of [params, query, body]) {
    const fault = faultIn(part, DEEPEST);
    if (fault !== null) throw new ProblemError('invalid', { errors: [fault] });
  }
}

const UNSTORABLE = {
  ...{ pointer: '', code: 'invalid' },
  detail: 'A text holds the character U+0000, or half of one.',
};
const TOO_DEEP = {
  ...{ pointer: '', code: 'too-deep' },
  detail: `It is nested deeper than ${DEEPEST} levels.`,
};

/** The first fault; its JSON pointer is without what senders wrote in keys that are at fault. */
function faultIn(value: unknown, levels: number): FieldError | null {
  if (typeof value === 'string') return isStorable(value) ? null : UNSTORABLE;
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return null;
  if (levels === 0) return TOO_DEEP;
  // A list of hundreds of thousands has no names to be made.
  for (const name of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    if (typeof name === 'string' && !isStorable(name)) return UNSTORABLE;
    const fault = faultIn(Reflect.get(value, name), levels - 1);
    if (fault !== null) return { ...fault, pointer: `/${name}${fault.pointer}` };
  }
  return null;
}
