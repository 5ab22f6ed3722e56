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

/**
 * Refuses a request with a text that could be neither stored nor looked for, in a key or a value,
 * whatever it is for. Files that are imported are read elsewhere.
 */
export function refuseUnstorable({ params, query, body }: FastifyRequest): void {
  const at = [params, query, body].flatMap((part) => unstorableIn(part, ''))[0];
  if (at === undefined) return;
  const detail = 'A text holds the character U+0000, or half of one.';
  throw new ProblemError('invalid', { errors: [{ pointer: at, code: 'invalid', detail }] });
}

/** JSON pointers, without what senders wrote in keys that are at fault. */
function unstorableIn(value: unknown, pointer: string): string[] {
  if (typeof value === 'string') return isStorable(value) ? [] : [pointer];
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    isStorable(name) ? unstorableIn(item, `${pointer}/${name}`) : [pointer],
  );
}
