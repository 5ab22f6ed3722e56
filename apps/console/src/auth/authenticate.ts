import { mayRun } from '@leadgate/operations';
import { findSession, findToken, type Store } from '@leadgate/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sendProblem } from '../problem.ts';
import type { Actor } from './actor.ts';
import { isSameOrigin } from './same-origin.ts';
import { sessionTokenOf } from './session-cookie.ts';

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** Whether a request only looks. */
export const isSafe = (request: FastifyRequest): boolean => SAFE_METHODS.has(request.method);

/**
 * The hook that stands before everything: nobody gets further without signing in, without the role
 * that the route asks for, or from a page of another site. Addresses without a route are no
 * exception: a stranger does not learn what there is.
 */
export function createGate(
  store: Store,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined> {
  return async (request, reply) => {
    const access = request.routeOptions.config;
    const isRoute = !request.is404;
    if (isRoute && access.public === true) {
      if (isSafe(request) || isSameOrigin(request)) return undefined;
      return sendProblem(reply, 'cross-site');
    }
    const actor = await findActor(store, request);
    if (actor === null) return askToSignIn(request, reply);
    request.actor = actor;
    if (actor.kind === 'operator' && !isSafe(request) && !isSameOrigin(request))
      return sendProblem(reply, 'cross-site');
    const needed = access.role ?? access.operation?.role ?? (isSafe(request) ? 'viewer' : 'operator');
    if (!mayRun(actor.role, needed)) return sendProblem(reply, 'not-allowed');
    return undefined;
  };
}

/** Who makes a request, by its token or session; null where that is nobody, or nobody any more. */
export async function findActor(store: Store, request: FastifyRequest): Promise<Actor | null> {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const [, secret] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
    const token = secret === undefined ? null : await findToken(store, secret);
    return token === null ? null : { kind: 'token', name: token.name, role: token.role };
  }
  const session = sessionTokenOf(request);
  const operator = session === null ? null : await findSession(store, session);
  return operator === null ? null : { kind: 'operator', name: operator.name, role: operator.role };
}

/** A person is led to the sign-in page, a program is told. */
function askToSignIn(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const isPage =
    request.method === 'GET' &&
    request.headers.authorization === undefined &&
    (request.headers.accept ?? '').includes('text/html');
  if (isPage) return reply.redirect('/sign-in', 303);
  reply.header('www-authenticate', 'Bearer');
  return sendProblem(reply, 'not-signed-in');
}
