import cookie from '@fastify/cookie';
import formbody from '@fastify/formbody';
import { errorFacts } from '@leadgate/boot';
import { failureOf } from '@leadgate/store';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { createGate, createScopeCheck } from './gate.ts';
import { setSecurityHeaders } from './headers.ts';
import { ConsoleProblem, ProblemError, sendProblem } from './problem.ts';
import { recordActions } from './record.ts';
import { addApiRoutes } from './routes/api.ts';
import { dashboardRoutes } from './routes/dashboard.ts';
import { healthRoutes } from './routes/health.ts';
import { signInRoutes } from './routes/sign-in.ts';
import { webRoutes } from './routes/web.ts';
import type { ConsoleServices } from './services.ts';
import { compileValidator, refuseUnknownQuery, refuseUnstorable } from './validate.ts';

/** The operators' side: everything behind one gate, and whatever acts on record. */
export async function consoleApp(app: FastifyInstance, services: ConsoleServices): Promise<void> {
  app.decorateRequest('actor', null);
  app.decorateRequest('auditId', null);
  app.setValidatorCompiler(compileValidator);
  app.addSchema(ConsoleProblem);
  await app.register(cookie, { secret: services.secret, hook: 'onRequest' });
  await app.register(formbody, { bodyLimit: 16 * 1024 });
  app.addHook('onRequest', (request, reply, done) => {
    setSecurityHeaders(request, reply);
    done();
  });
  app.addHook('onRequest', createGate(services.store));
  app.addHook('preValidation', (request, _reply, done) => {
    refuseUnstorable(request);
    refuseUnknownQuery(request);
    done();
  });
  app.addHook('preHandler', createScopeCheck(services.store));
  recordActions(app, services.store);
  app.setErrorHandler(answerError);
  app.setNotFoundHandler((_request, reply) => sendProblem(reply, 'not-found'));
  await app.register(healthRoutes, services);
  await app.register(webRoutes, services);
  await app.register(signInRoutes, services);
  await app.register(dashboardRoutes, services);
  await addApiRoutes(app, services);
}

function answerError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (error instanceof ProblemError) return sendProblem(reply, error.code, error.details);
  if (error.validation !== undefined)
    return sendProblem(reply, 'invalid', {
      errors: error.validation.map(({ instancePath, keyword, message }) => ({
        pointer: instancePath,
        code: keyword,
        detail: `${error.validationContext ?? 'value'} ${message ?? 'is not valid'}`,
      })),
    });
  if (error.statusCode === 413) return sendProblem(reply, 'body-too-large');
  if (error.statusCode === 415) return sendProblem(reply, 'unsupported-media-type');
  if (error.statusCode !== undefined && error.statusCode < 500)
    return sendProblem(reply, 'malformed-request');
  request.log.error({ err: error, requestId: request.id }, 'request failed');
  return sendProblem(reply, isOutage(error) ? 'unavailable' : 'internal');
}

/** Whether a server that the console needs did not answer. */
function isOutage(error: Error): boolean {
  const { message, type } = errorFacts(error);
  return (
    failureOf(error) === 'unavailable' ||
    type === 'MaxRetriesPerRequestError' ||
    /^(Command timed out|Connection is closed|Stream isn't writeable)/.test(message)
  );
}
