import { Type } from 'typebox';
import { PROBLEMS, type Receipt } from '@leadgate/contract';

const header = (description: string) => Type.Optional(Type.String({ description }));

/** Problems that a POST cannot meet: another method's, another address's. */
const NOT_OF_A_POST = new Set(['method-not-allowed', 'not-found']);

/** One answer a status, that names the codes it may have. */
function problemAnswers() {
  const codes = new Map<number, string[]>();
  for (const [code, { status }] of Object.entries(PROBLEMS))
    if (!NOT_OF_A_POST.has(code)) codes.set(status, [...(codes.get(status) ?? []), code]);
  return Object.fromEntries(
    [...codes].map(([status, names]) => [
      status,
      {
        description: names.map((name) => `\`${name}\``).join(', '),
        content: { 'application/problem+json': { schema: Type.Ref('Problem') } },
        ...((status === 429 || status === 503) && {
          headers: { 'Retry-After': { type: 'integer', description: 'Seconds.' } },
        }),
      },
    ]),
  );
}

const RECEIPT = {
  description: 'The lead is durable.',
  content: { 'application/json': { schema: Type.Ref('Receipt') } },
  headers: {
    'Submission-Id': { type: 'string', format: 'uuid', description: 'Of this submission.' },
  },
};

export const ingestSchema = {
  operationId: 'postLead',
  summary: 'Send a lead to a capture link',
  description:
    'Creates the lead, or updates the one with the same email or phone. The answer is the same for both.',
  consumes: ['application/json', 'text/plain', 'application/x-www-form-urlencoded'],
  params: Type.Object({ code: Type.String({ description: 'The code of the capture link.' }) }),
  headers: Type.Object({
    'idempotency-key': header(
      'Up to 255 printable ASCII characters; remembered for 24 hours. The same key with the same body is one submission.',
    ),
    prefer: header('`handling=lenient` sets refused fields aside instead of refusing the lead.'),
  }),
  body: Type.Ref('Lead'),
  response: {
    202: Type.Unsafe<Receipt>(RECEIPT),
    303: Type.Unsafe<never>({
      type: 'null',
      description: 'To the link’s redirect address: a plain HTML form, from a link that has one.',
    }),
    ...problemAnswers(),
  },
};
