import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Type } from 'typebox';
import type { Health } from '../health.ts';

const Live = Type.Object({ status: Type.Literal('live') });

const Ready = Type.Object({
  status: Type.Union([Type.Literal('ready'), Type.Literal('not-ready')]),
  reasons: Type.Array(Type.String(), { description: 'Why it is not ready.' }),
  warnings: Type.Array(Type.String(), {
    description: 'What makes its promises weaker than they should be.',
  }),
});

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
        response: { 200: Ready, 503: Ready },
      },
    },
    async (_request, reply) => {
      const { ready, reasons, warnings } = await health.readiness();
      return reply
        .code(ready ? 200 : 503)
        .send({ status: ready ? 'ready' : 'not-ready', reasons, warnings });
    },
  );
};
