import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem, Receipt } from '@leadgate/contract';
import { sendProblem } from './answer.ts';
import { ALLOWED_METHODS, setCommonHeaders } from './cors.ts';
import { LeadBody } from './lead-body.ts';
import { healthRoutes } from './routes/health.ts';
import { ingestRoutes } from './routes/ingest.ts';
import { demoRoutes } from './routes/demo.ts';
import { snippetRoutes } from './routes/snippet.ts';
import type { ReceiverServices } from './services.ts';

/** The public HTTP side: the capture links' route, its health, and one answer for whatever else. */
export async function receiverApp(app: FastifyInstance, services: ReceiverServices): Promise<void> {
  const logsAnswers = app.log.level === 'debug' || app.log.level === 'trace';
  app.decorateRequest('answer', null);
  for (const schema of [LeadBody, Receipt, Problem]) app.addSchema(schema);
  app.addHook('onRequest', (_request, reply, done) => {
    setCommonHeaders(reply);
    done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    if (logsAnswers) logAnswer(request, reply);
    if (request.answer !== null) services.onAnswer(request.answer, reply.elapsedTime);
    done();
  });
  app.setErrorHandler(answerError);
  // No body is read for an address that is not there.
  app.removeAllContentTypeParsers();
  app.setNotFoundHandler(answerNotFound);
  await app.register(ingestRoutes, services);
  await app.register(healthRoutes, services);
  await app.register(snippetRoutes, services);
  await app.register(demoRoutes, services);
}

// Ids only: the code is a capability, and query strings and bodies hold people.
function logAnswer({ log, id, arrival, answer }: FastifyRequest, reply: FastifyReply): void {
  log.debug({
    submissionId: id,
    linkId: arrival?.link.linkId,
    answer,
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime * 10) / 10,
  });
}

function answerNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  if (!/^\/+ingest\/+[^/?]+\/?(\?|$)/.test(request.url)) return sendProblem(reply, 'not-found');
  reply.header('allow', ALLOWED_METHODS);
  return sendProblem(reply, 'method-not-allowed');
}

/** What neither a route nor its rules have answered: Fastify's own refusals, and bugs. */
function answerError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error.statusCode === 415) return sendProblem(reply, 'unsupported-media-type');
  // The sender has gone away in the middle of its body: nobody reads the answer.
  if (request.raw.socket.destroyed) request.log.debug('the sender went away');
  else request.log.error({ err: error, submissionId: request.id }, 'request failed');
  return sendProblem(reply, 'internal');
}
