import type { Store } from '../open-store.ts';
import type { AuditEntry } from './audit-entry.ts';

/**
 * Writes that something is about to be done, so that nothing is done unrecorded. Returns the id for
 * `recordOutcome`.
 */
export async function recordAction(
  store: Store,
  { actor, action, subject, requestId }: Omit<AuditEntry, 'id' | 'at' | 'outcome'>,
): Promise<number> {
  const [row] = await store.prisma.$queryRaw<{ id: number }[]>`
    INSERT INTO audit_entry (actor_kind, actor_name, action, subject, request_id)
    VALUES (${actor.kind}, ${actor.name}, ${action}, ${JSON.stringify(subject)}::jsonb, ${requestId})
    RETURNING id::float8 AS id`;
  if (row === undefined) throw new Error('Postgres returned no id of the audit entry');
  return row.id;
}

/** Writes how it ended. */
export async function recordOutcome(
  store: Store,
  id: number,
  outcome: NonNullable<AuditEntry['outcome']>,
): Promise<void> {
  await store.prisma.$executeRaw`
    UPDATE audit_entry SET outcome = ${outcome} WHERE id = ${id}::bigint`;
}
