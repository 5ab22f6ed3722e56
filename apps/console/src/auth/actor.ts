import { reaches, type Access, type Role } from '@leadgate/contract';
import type { Operation } from '@leadgate/operations';
import type { AuditActor } from '@leadgate/store';
import type { FastifyRequest } from 'fastify';

/** Who makes a request. */
export interface Actor extends AuditActor, Access {
  kind: 'operator' | 'token';
  /** Of a person. */
  operatorId?: string;
  sessionId?: string;
}

/** What a route asks of who may come, besides being signed in. */
export interface RouteAccess {
  /** Open to anybody: signing in, and the health checks. */
  public?: boolean;
  /** Who may come at least. Without it: a viewer to look (GET), an operator to act. */
  role?: Role;
  /** What it runs: its runner puts it on record. */
  operation?: Pick<Operation, 'name' | 'role' | 'scope'>;
  /** What it is called in the audit log. Whatever acts is recorded; looking, where this says so. */
  action?: string;
  /** Records a GET too: for what carries data away. */
  recorded?: boolean;
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
