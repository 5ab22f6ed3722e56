import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Problem, Receipt } from '@leadgate/contract';
import type { Limits, LinkCounter, LinkDirectory } from '@leadgate/intake';
import type { Intake } from './accept-lead.ts';
import { type Answer, sendProblem } from './answer.ts';
import { type Asset, type Demo, demoRoutes, snippetRoutes } from './assets.ts';
import type { ReceiverConfig } from './config.ts';
import { ALLOWED_METHODS, setCommonHeaders } from './admit.ts';
import { consentRoutes } from './consent.ts';
import { type Health, healthRoutes } from './health.ts';
import { ingestRoutes } from './ingest.ts';
import { LeadBody } from './schema.ts';

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
    const { answer, postedTo, isSpooled } = request;
    if (answer !== null) {
      services.onAnswer(answer, reply.elapsedTime);
      const what = answer === 'accepted' ? isSpooled && 'spooled' : (`refused:${answer}` as const);
      if (postedTo !== null && what !== false)
        services.linkCounter.count(postedTo, what, services.clock());
    }
    done();
  });
  app.setErrorHandler(answerError);
  // No body is read for an address that is not there.
  app.removeAllContentTypeParsers();
  app.setNotFoundHandler(answerNotFound);
  await app.register(ingestRoutes, services);
  await app.register(consentRoutes, services);
  await app.register(healthRoutes, services);
  await app.register(snippetRoutes, services);
  await app.register(demoRoutes, services);
}

// Ids only: the code is a capability, and query strings and bodies hold people.
function logAnswer({ log, id, postedTo, answer }: FastifyRequest, reply: FastifyReply): void {
  log.debug({
    submissionId: id,
    linkId: postedTo?.linkId,
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

/** All that the app needs from outside, opened and closed by whoever builds it. */
export interface ReceiverServices extends Intake {
  config: Pick<
    ReceiverConfig,
    'RATE_LIMIT_LINK' | 'RATE_LIMIT_ADDRESS' | 'KEEP_ADDRESS' | 'CONSENT_KEY' | 'CONSENT_KEY_BEFORE'
  >;
  directory: Pick<LinkDirectory, 'find' | 'peek'>;
  limits: Pick<Limits, 'count' | 'spend'>;
  linkCounter: Pick<LinkCounter, 'count'>;
  health: Health;
  /** The script for landing pages. */
  snippet: Asset;
  /** Null if none is served. */
  demo: Demo | null;
  /** Told what each post came to, and the milliseconds it took. */
  onAnswer: (answer: Answer, ms: number) => void;
}
