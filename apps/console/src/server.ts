import { fastify, LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { randomUUID } from 'node:crypto';
import { setSecurityHeaders } from './headers.ts';
import { sendProblem } from './problem.ts';

/** Closing gives open requests this long before their connections are cut. */
const CLOSE_WITHIN_MS = 2_000;

/** A server without routes: its limits and timeouts. */
export function createServer(
  { trustProxy }: { trustProxy: string[] },
  logger: FastifyBaseLogger,
): FastifyInstance {
  const app = fastify({
    loggerInstance: logger,
    // Addresses may hold what somebody looked for.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    trustProxy: trustProxy.length > 0 ? trustProxy : false,
    bodyLimit: 1024 * 1024,
    // An import is one request, and takes as long as it takes; its head does not.
    requestTimeout: 0,
    http: { headersTimeout: 10_000 },
    connectionTimeout: 60_000,
    routerOptions: { maxParamLength: 300 },
    frameworkErrors: (_error, request, reply) => {
      setSecurityHeaders(request, reply);
      sendProblem(reply, 'malformed-request');
    },
  });
  app.addHook('preClose', (done) => {
    const { server } = app;
    if (server.listening) {
      const whenIdle = setInterval(() => server.closeIdleConnections(), 50);
      const afterAll = setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
      server.once('close', () => {
        clearInterval(whenIdle);
        clearTimeout(afterAll);
      });
    }
    done();
  });
  return app;
}
