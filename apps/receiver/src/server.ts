import { randomFillSync } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { fastify, type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import { v7 as uuidv7 } from 'uuid';
import { problem, type ProblemCode } from '@leadgate/contract';
import { sendProblem } from './answer.ts';
import { BODY_LIMIT_BYTES } from './body.ts';
import type { ReceiverConfig } from './config.ts';
import { setCommonHeaders, trustedProxies } from './admit.ts';

/** How often Node looks for requests that take too long. Its default is 30 seconds. */
const CHECK_TIMEOUTS_MS = 500;

const DRAIN_MS = 250;

/** Closing gives open requests this long before their connections are cut. */
const CLOSE_WITHIN_MS = 5_000;

type ServerConfig = Pick<
  ReceiverConfig,
  'TRUST_PROXY' | 'REQUEST_TIMEOUT_MS' | 'KEEP_ALIVE_TIMEOUT_MS'
>;

/** A server without routes: its limits, timeouts, ids, and the answers Fastify cannot give. */
export function createServer(config: ServerConfig, logger: FastifyBaseLogger): FastifyInstance {
  const app = fastify({
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    // A child logger a request would cost more than the few lines that are ever written.
    childLoggerFactory: (parent) => parent,
    // The request's id is the submission's: made before Redis is asked for anything.
    genReqId: submissionId,
    requestIdHeader: false,
    trustProxy: config.TRUST_PROXY.length > 0 ? trustedProxies(config.TRUST_PROXY) : false,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: config.REQUEST_TIMEOUT_MS,
    connectionTimeout: config.KEEP_ALIVE_TIMEOUT_MS + config.REQUEST_TIMEOUT_MS,
    keepAliveTimeout: config.KEEP_ALIVE_TIMEOUT_MS,
    http: {
      headersTimeout: config.REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: CHECK_TIMEOUTS_MS,
      maxHeaderSize: 16 * 1024,
    },
    // What is on its way while the server closes is taken; its connection ends with the answer.
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, maxParamLength: 256 },
    frameworkErrors: (_error, _request, reply) => {
      setCommonHeaders(reply);
      sendProblem(reply, 'not-found');
    },
    clientErrorHandler: answerClientError,
  });
  app.addHook('preClose', () => drain(app));
  return app;
}

const CLIENT_ERRORS: Readonly<Record<string, ProblemCode>> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request-timeout',
  HPE_HEADER_OVERFLOW: 'headers-too-large',
};

/**
 * Answers what is no request, or did not arrive in time, and ends its connection. Fastify has no
 * reply for these, so the answer is written as it goes over the wire.
 */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const answer = problem(CLIENT_ERRORS[error.code ?? ''] ?? 'malformed-request');
  const body = JSON.stringify(answer);
  socket.end(
    [
      `HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status] ?? ''}`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      'Access-Control-Allow-Origin: *',
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

/**
 * Every answer now ends its connection, so for a moment the senders at work leave by themselves: an
 * idle connection that is closed just as its sender writes to it is a lead that gets no answer. Then
 * the rest is closed as it becomes idle, which Fastify does only once, and at last cut.
 */
async function drain({ server }: FastifyInstance): Promise<void> {
  if (!server.listening) return;
  await delay(DRAIN_MS);
  const whenIdle = setInterval(() => server.closeIdleConnections(), 50);
  const afterAll = setTimeout(() => server.closeAllConnections(), CLOSE_WITHIN_MS);
  server.once('close', () => {
    clearInterval(whenIdle);
    clearTimeout(afterAll);
  });
}

const BYTES_AN_ID = 16;

/** Asking for random bytes costs the same for one id and for these. */
const page = Buffer.alloc(256 * BYTES_AN_ID);
let used = page.length;

/** A new submission's id: UUIDv7 (RFC 9562). */
export function submissionId(): string {
  if (used === page.length) {
    randomFillSync(page);
    used = 0;
  }
  const random = page.subarray(used, used + BYTES_AN_ID);
  used += BYTES_AN_ID;
  return uuidv7({ random });
}
