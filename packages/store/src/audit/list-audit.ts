import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';
import type { AuditActor, AuditEntry } from './audit-entry.ts';

interface Row extends Omit<AuditEntry, 'actor' | 'at'> {
  at: Date;
  actorKind: AuditActor['kind'];
  actorName: string;
}

export interface AuditFilter {
  /** The whole name of an action, or its noun: `link`, `link.create`. */
  action?: string;
  /** The whole name of who did it. */
  actor?: string;
  since?: Date;
  /** Only those with a lower id than this one, the last of the page before. */
  before?: number;
}

/** What was done, newest first, at most `limit`. */
export async function listAudit(
  store: Store,
  { action, actor, since, before, limit }: AuditFilter & { limit: number },
): Promise<AuditEntry[]> {
  const conditions = [
    Prisma.sql`true`,
    ...(before === undefined ? [] : [Prisma.sql`id < ${before}::bigint`]),
    ...(actor === undefined ? [] : [Prisma.sql`actor_name = ${actor}`]),
    ...(since === undefined ? [] : [Prisma.sql`at >= ${since}`]),
    ...(action === undefined
      ? []
      : [Prisma.sql`(action = ${action} OR starts_with(action, ${`${action}.`}))`]),
  ];
  const rows = await store.prisma.$queryRaw<Row[]>`
    SELECT id::float8 AS id, at, actor_kind AS "actorKind", actor_name AS "actorName", action,
           subject, outcome, request_id AS "requestId"
    FROM audit_entry WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY id DESC LIMIT ${limit}`;
  return rows.map(({ actorKind, actorName, at, ...row }) => ({
    ...row,
    at: at.toISOString(),
    actor: { kind: actorKind, name: actorName },
  }));
}
