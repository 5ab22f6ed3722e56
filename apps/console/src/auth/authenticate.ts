import { reaches } from '@leadgate/contract';
import { couldRun } from '@leadgate/operations';
import { findSession, findToken, recordAction, recordOutcome, type Store } from '@leadgate/store';
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
    // An operation's runner knows what it is about, and who may do that.
    const needed = access.role ?? (isSafe(request) ? 'viewer' : 'operator');
    const { operation } = isRoute ? access : {};
    if (operation ? couldRun(operation, actor) : reaches(actor.role, needed)) return undefined;
    await recordRefusal(store, request, actor);
    return sendProblem(reply, 'not-allowed');
  };
}

/** Who makes a request, by its token or session; null where that is nobody, or nobody any more. */
export async function findActor(store: Store, request: FastifyRequest): Promise<Actor | null> {
  const { authorization } = request.headers;
  if (authorization !== undefined) {
    const [, secret] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
    const token = secret === undefined ? null : await findToken(store, secret);
    if (token === null) return null;
    const { name, role, workspaceId } = token;
    return workspaceId === null
      ? { kind: 'token', name, role, workspaces: [] }
      : { kind: 'token', name, role: null, workspaces: [{ workspaceId, role }] };
  }
  const session = sessionTokenOf(request);
  const found = session === null ? null : await findSession(store, session);
  if (found === null) return null;
  const { sessionId, operator } = found;
  const { id: operatorId, name, role, workspaces } = operator;
  return { kind: 'operator', name, role, workspaces, operatorId, sessionId };
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

/** What somebody was not let do. The address of the route, not of the request: that may hold what was looked for. */
async function recordRefusal(store: Store, request: FastifyRequest, actor: Actor): Promise<void> {
  const { method, url = '', config } = request.routeOptions;
  const id = await recordAction(store, {
    actor: { kind: actor.kind, name: actor.name },
    action: config.operation?.name ?? config.action ?? `${String(method)} ${url}`,
    subject: { address: request.ip },
    requestId: request.id,
  });
  await recordOutcome(store, id, 'refused');
}
