import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import type { Health } from '../health.ts';

const Live = Type.Object({ status: Type.Literal('live') }, { description: 'It runs.' });

const ready = (status: 'ready' | 'not-ready', description: string) =>
  Type.Object(
    {
      status: Type.Literal(status),
      reasons: Type.Array(Type.String(), { description: 'Why it is not ready.' }),
      warnings: Type.Array(Type.String(), {
        description: 'What makes its promises weaker than they should be.',
      }),
    },
    { description },
  );

/** GET /live: the event loop turns. GET /ready: leads can be taken. */
export const healthRoutes: FastifyPluginAsyncTypebox<{ health: Health }> = async (
  app,
  { health },
) => {
  app.get(
    '/live',
    { schema: { operationId: 'live', summary: 'Whether it runs', response: { 200: Live } } },
    () => ({ status: 'live' as const }),
  );

  app.get(
    '/ready',
    {
      schema: {
        operationId: 'ready',
        summary: 'Whether it can take leads',
        response: {
          200: ready('ready', 'It can.'),
          503: ready('not-ready', 'It cannot, for these reasons.'),
        },
      },
    },
    async (_request, reply) => {
      const { ready, reasons, warnings } = await health.readiness();
      return ready
        ? reply.code(200).send({ status: 'ready', reasons, warnings })
        : reply.code(503).send({ status: 'not-ready', reasons, warnings });
    },
  );
};
