import type { Store } from '../open-store.ts';
import type { AuditActor, AuditEntry } from './audit-entry.ts';

interface Row extends Omit<AuditEntry, 'actor' | 'at'> {
  at: Date;
  actorKind: AuditActor['kind'];
  actorName: string;
}

/** What was done, newest first; `before`: the id of the last entry of the page before. */
export async function listAudit(
  store: Store,
  { before, limit }: { before?: number; limit: number },
): Promise<AuditEntry[]> {
  const rows = await store.prisma.$queryRaw<Row[]>`
    SELECT id::float8 AS id, at, actor_kind AS "actorKind", actor_name AS "actorName", action,
           subject, outcome, request_id AS "requestId"
    FROM audit_entry WHERE ${before ?? null}::float8 IS NULL OR id < ${before ?? null}::bigint
    ORDER BY id DESC LIMIT ${limit}`;
  return rows.map(({ actorKind, actorName, at, ...row }) => ({
    ...row,
    at: at.toISOString(),
    actor: { kind: actorKind, name: actorName },
  }));
}
