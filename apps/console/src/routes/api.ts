import { Readable } from 'node:stream';
import {
  allOperations,
  pathMembers,
  Refusal,
  TextFile,
  type Connections,
  type Operation,
} from '@leadgate/operations';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type, type TObject, type TSchema } from 'typebox';
import { perform } from '../perform.ts';
import { problemOf, sendProblem } from '../problem.ts';

/** What every route of the API may answer besides what it promises. */
const PROBLEM_ANSWERS = { '4xx': Type.Ref('Problem'), '5xx': Type.Ref('Problem') };

/** The operators' API: every operation under its address, described from the same schemas. */
export async function addOperations(app: FastifyInstance, connections: Connections): Promise<void> {
  for (const operation of await allOperations())
    app.route({
      method: operation.method,
      url: `/api${operation.path}`,
      config: { operation },
      schema: schemaOf(operation),
      handler: async (request, reply) => {
        const input = inputOf(request);
        return answer(reply, operation, await perform(reply, operation, input, connections));
      },
    });
}

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
