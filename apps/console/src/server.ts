import { fastify, LogController, type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { randomUUID } from 'node:crypto';
import { setSecurityHeaders } from './headers.ts';
import { sendProblem } from './problem.ts';

/** Closing gives open requests this long before their connections are cut. */
const CLOSE_WITHIN_MS = 2_000;

/** A sender has this long for all of a request, but for a file that an operator imports. */
const RECEIVE_WITHIN_MS = 10_000;

declare module 'fastify' {
  interface FastifyRequest {
    /** Cuts the connection when the body is not there in time. A route that takes files clears it. */
    receiveTimer: NodeJS.Timeout | null;
  }
}

/** A server without routes: its limits and timeouts. */
export function createServer(
  {
    trustProxy,
    receiveWithinMs = RECEIVE_WITHIN_MS,
  }: { trustProxy: string[]; receiveWithinMs?: number },
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
    // An import is one request, and takes as long as it takes: see receiveTimer for all others.
    requestTimeout: 0,
    http: { headersTimeout: 10_000 },
    connectionTimeout: 60_000,
    routerOptions: { maxParamLength: 300 },
    frameworkErrors: (_error, request, reply) => {
      setSecurityHeaders(request, reply);
      sendProblem(reply, 'malformed-request');
    },
  });
  app.decorateRequest('receiveTimer', null);
  // Before the gate: who is answered 401 may go on sending all the same.
  app.addHook('onRequest', (request, _reply, done) => {
    const { raw } = request;
    const timer = setTimeout(() => {
      if (!raw.complete) raw.destroy();
    }, receiveWithinMs);
    request.receiveTimer = timer;
    raw.once('close', () => clearTimeout(timer));
    done();
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
