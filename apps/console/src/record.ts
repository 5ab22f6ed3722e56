import { recordAction, recordOutcome, type Store } from '@leadgate/store';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isSafe } from './gate.ts';

/**
 * Records whatever acts in the audit log, before it acts, with the ids that the address names; and
 * how it ended, before that is answered. No route has to think of it.
 */
export function recordActions(app: FastifyInstance, store: Store): void {
  app.addHook('preHandler', async (request) => {
    const { config } = request.routeOptions;
    if (request.actor === null || request.is404 || config.operation !== undefined) return;
    if (isSafe(request)) return;
    request.auditId = await recordAction(store, {
      actor: { kind: request.actor.kind, name: request.actor.name },
      action: config.action ?? `${request.method} ${request.routeOptions.url ?? ''}`,
      subject: subjectOf(request),
      requestId: request.id,
    });
  });
  app.addHook('onSend', async (request, reply) => {
    if (request.auditId === null) return;
    const status = reply.statusCode;
    const outcome = status < 400 ? 'done' : status < 500 ? 'refused' : 'failed';
    try {
      await recordOutcome(store, request.auditId, outcome);
    } catch (err) {
      // That it was begun is on record; the answer must not depend on more.
      request.log.error({ err, auditId: request.auditId }, 'outcome not recorded');
    }
  });
}

/** Addresses hold ids and names of what operators made, never a person's data. */
function subjectOf({ params, query, body, routeOptions }: FastifyRequest): Record<string, string> {
  const named = routeOptions.config.subject ?? [];
  const given = [query, body]
    .flatMap((one) => membersOf(one))
    .filter(([name]) => named.includes(name));
  return Object.fromEntries(
    [...membersOf(params), ...given]
      .filter(([, value]) => /^(string|number|boolean)$/.test(typeof value) && value !== '')
      .map(([name, value]) => [name, String(value).slice(0, 200)]),
  );
}

const membersOf = (value: unknown): [name: string, value: unknown][] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];
