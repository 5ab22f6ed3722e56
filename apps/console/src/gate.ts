import { type Access, reaches, type Role } from '@leadgate/contract';
import { couldRun, type Operation, Refusal, roleOver, type SignedIn } from '@leadgate/operations';
import {
  type AuditActor,
  findSession,
  findToken,
  recordAction,
  recordOutcome,
  type Store,
} from '@leadgate/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { problemOf, sendProblem } from './problem.ts';
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
    const { operation } = isRoute ? access : {};
    if (couldRun(operation ?? neededBy(request), actor)) return undefined;
    await recordRefusal(store, request, actor);
    return sendProblem(reply, 'not-allowed');
  };
}

/** What a route that runs no operation asks for. */
function neededBy(request: FastifyRequest): Pick<Operation, 'role' | 'scope'> {
  const { role, scope = null } = request.is404 ? {} : request.routeOptions.config;
  return { role: role ?? (isSafe(request) ? 'viewer' : 'operator'), scope };
}

/**
 * The hook that stands before the handlers of routes with a scope, once their request is known to be
 * valid: the role must be one in the workspace that it names. What is in another is not there.
 */
export function createScopeCheck(
  store: Store,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined> {
  return async (request, reply) => {
    const { actor } = request;
    if (actor === null || request.is404 || request.routeOptions.config.scope === undefined)
      return undefined;
    const held = await roleInScope(store, request, actor);
    if (!(held instanceof Refusal)) return undefined;
    await recordRefusal(store, request, actor);
    return sendProblem(reply, held.code, problemOf(held));
  };
}

/** The role of who asks, over what a request of a route with a scope is about. */
export function roleInScope(
  store: Store,
  request: FastifyRequest,
  actor: Access,
): Promise<Role | Refusal> {
  const input = Object.assign({}, request.query, request.params);
  const { role, scope } = neededBy(request);
  // Without the one thing that a scope is of, it is about the workspace that is named.
  const named = scope !== null && scope in input ? scope : 'workspaceId';
  return roleOver({ role, scope: named }, input, { store }, actor);
}

/** Who makes a request, by its token or session; null if that is nobody, or nobody any more. */
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
  return {
    kind: 'operator',
    name,
    role,
    workspaces,
    operatorId,
    sessionId,
    origin: originOf(request),
  };
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

/** Who makes a request. */
export interface Actor extends AuditActor, Access, Partial<SignedIn> {
  kind: 'operator' | 'token';
}

/** Where this console is, as the browser that asks sees it. */
export const originOf = (request: FastifyRequest): string =>
  `${request.protocol}://${request.host}`;

/** What a route asks of who may come, besides being signed in. */
interface RouteAccess {
  /** Open to anybody: signing in, and the health checks. */
  public?: boolean;
  /** Who may come at least. Without it: a viewer to look (GET), an operator to act. */
  role?: Role;
  /** The member of the query or the address that leads to its workspace: a role in that one is enough. */
  scope?: Operation['scope'];
  /** What it runs: its runner puts it on record. */
  operation?: Pick<Operation, 'name' | 'role' | 'scope'>;
  /** What it is called in the audit log. */
  action?: string;
  /**
   * Members of the body or the query that say on what it acts, beside the ids of the address. Ids,
   * and names that operators gave: never a person's data.
   */
  subject?: readonly string[];
}

declare module 'fastify' {
  // eslint-disable-next-line @typescript-eslint/no-empty-object-type -- declared to be merged
  interface FastifyContextConfig extends RouteAccess {}

  interface FastifyRequest {
    /** Null on public routes only. */
    actor: Actor | null;
    /** The entry of the audit log that was begun for this request. */
    auditId: number | null;
  }
}

/** Who makes a request of a route that is not public. */
export function actorOf(request: FastifyRequest): Actor {
  if (request.actor === null) throw new Error('nobody passed the gate');
  return request.actor;
}

/** Whether who asks may act in every workspace. */
export const acts = (request: FastifyRequest): boolean =>
  reaches(actorOf(request).role, 'operator');

/**
 * Whether a browser made this request from a page of this console. The second lock beside the
 * same-site cookie, which holds if a sister domain is hostile. Browsers send Sec-Fetch-Site since
 * 2023; older ones, and any over plain http, send Origin. A request with neither is not believed.
 */
function isSameOrigin(request: FastifyRequest): boolean {
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin } = request.headers;
  if (origin === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === request.host;
}
