import type { FastifyPluginAsync } from 'fastify';
import type { ConsoleServices } from '../services.ts';

/** GET /metrics, for Prometheus with an API token of a viewer. */
export const metricsRoutes: FastifyPluginAsync<ConsoleServices> = async (app, { metrics }) => {
  app.get('/metrics', { schema: { hide: true } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
};
