import type { FastifySchemaCompiler, FastifySchemaValidationError } from 'fastify';
import type { TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { Value } from 'typebox/value';

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
