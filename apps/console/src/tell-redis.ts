import type { FastifyRequest } from 'fastify';

/**
 * Carries a change that Postgres has over to Redis at once. Where Redis cannot take it, the worker
 * compares the two and carries it over by itself.
 */
export async function tellRedis(request: FastifyRequest, tell: () => Promise<void>): Promise<void> {
  try {
    await tell();
  } catch (err) {
    request.log.warn({ err, requestId: request.id }, 'stored in Postgres; Redis follows later');
  }
}
