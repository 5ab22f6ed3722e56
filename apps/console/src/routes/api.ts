import compress from '@fastify/compress';
import swagger from '@fastify/swagger';
import {
  allOperations,
  type Connections,
  type Operation,
  pathMembers,
  Refusal,
  TextFile,
} from '@leadgate/operations';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type TObject, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { Readable } from 'node:stream';
import { perform } from '../perform.ts';
import { PROBLEM_ANSWERS, problemOf, sendProblem } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { importRoutes } from './imports.ts';
import { tailRoutes } from './tail.ts';

/** The operators' API, described by /api/openapi.json: operations, and what streams. */
export async function addApiRoutes(app: FastifyInstance, services: ApiServices): Promise<void> {
  await collectOpenapi(app);
  // Of requests none is unpacked: a small one could become a large one.
  await app.register(compress, { global: false });
  await addOperations(app, services.connections);
  for (const routes of [importRoutes, tailRoutes])
    await app.register(routes, { ...services, prefix: '/api' });
  app.get('/api/openapi.json', { schema: { hide: true } }, () => app.swagger());
}

/** The operators' API: every operation under its address, described from the same schemas. */
async function addOperations(app: FastifyInstance, connections: Connections): Promise<void> {
  for (const operation of await allOperations())
    app.route({
      method: operation.method,
      url: `/api${operation.path}`,
      config: { operation },
      schema: schemaOf(operation),
      ...(isCompressed(operation) && { compress: { encodings: ['br', 'gzip'] } }),
      preValidation: readForm,
      handler: async (request, reply) => {
        const input = inputOf(request);
        return answer(reply, operation, await perform(reply, operation, input, connections));
      },
    });
}

/**
 * Counts and lists are. What shows persons is not, as its length would tell of them (BREACH): strangers post what
 * stands beside; nor is what was just made, which may be a secret.
 */
const isCompressed = ({ method, personal }: Operation): boolean =>
  method === 'GET' && personal === false;

/** Members in the address are its parameters; the others are the query of a GET, else the body. */
function schemaOf({ input, ...operation }: Operation) {
  const { id: operationId, summary, description, output, status } = operation;
  const inPath = pathMembers(operation);
  const [params, rest] = [pick(input, inPath), omit(input, inPath)];
  const isEmpty = Object.keys(rest.properties).length === 0;
  return {
    operationId,
    summary,
    ...(description !== undefined && { description }),
    ...(inPath.length > 0 && { params }),
    ...(!isEmpty && (operation.method === 'GET' ? { querystring: rest } : { body: strict(rest) })),
    response: { ...(output !== null && { [status]: output }), ...PROBLEM_ANSWERS },
  };
}

/** A form is text, as a query is: its numbers and booleans are read by the schema of the body. */
function readForm(request: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const { body } = request.routeOptions.schema ?? {};
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(
    request.headers['content-type'] ?? '',
  );
  if (isForm && body !== undefined) request.body = Value.Convert(body as TSchema, request.body);
  done();
}

const pick = (schema: TObject, names: readonly string[]): TObject =>
  Type.Object(propertiesOf(schema, (name) => names.includes(name)));
const omit = (schema: TObject, names: readonly string[]): TObject =>
  Type.Object(propertiesOf(schema, (name) => !names.includes(name)));
const strict = (schema: TObject): TObject =>
  Type.Object(schema.properties, { additionalProperties: false });

function propertiesOf(schema: TObject, wanted: (name: string) => boolean): Record<string, TSchema> {
  return Object.fromEntries(Object.entries(schema.properties).filter(([name]) => wanted(name)));
}

function inputOf({ params, query, body }: FastifyRequest): Record<string, unknown> {
  return Object.fromEntries([query, body, params].flatMap((part) => entriesOf(part)));
}

const entriesOf = (part: unknown): [string, unknown][] =>
  typeof part === 'object' && part !== null ? Object.entries(part) : [];

/** Sends what an operation came to. */
function answer(reply: FastifyReply, operation: Operation, result: unknown): FastifyReply {
  if (result instanceof Refusal) return sendProblem(reply, result.code, problemOf(result));
  if (result instanceof TextFile)
    return reply
      .type(result.type)
      .header('content-disposition', `attachment; filename="${result.name}"`)
      .send(Readable.from(result.texts));
  return reply.code(operation.status).send(result);
}

/** Collects the OpenAPI document of the routes that are added from now on. */
async function collectOpenapi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Leadgate console',
        description:
          'What operators do, for programs: the same functions as the command line. Lists have telephones and documents masked; one person or post, and exports, are whole, and on record as read. Viewers get all personal data masked and may only look.',
        version: '1',
      },
      components: {
        securitySchemes: {
          token: { type: 'http', scheme: 'bearer', description: 'leadgate token create' },
        },
      },
      security: [{ token: [] }],
    },
    refResolver: {
      buildLocalReference: (json, _baseUri, _fragment, i) =>
        typeof json.$id === 'string' ? json.$id : `def-${i}`,
    },
  });
}
