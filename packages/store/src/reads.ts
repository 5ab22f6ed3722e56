import type { AuditActor } from './audit.ts';
import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { hashIdentity } from './tombstones.ts';

/** Somebody read data of people, unmasked. */
export interface PersonRead {
  id: number;
  at: Date;
  actor: AuditActor;
  /** The operation: `lead.show`. */
  action: string;
  /** The workspace, if a whole one was read. */
  workspaceId: string | null;
  /** The leads that were answered. */
  leadIds: string[];
  requestId: string | null;
}

type NewRead = Omit<PersonRead, 'id' | 'at'> & {
  /** The identity that was looked for, in which workspaces: what is kept is a keyed hash. */
  sought: { workspaceId: string; identity: string } | null;
};

/** What Postgres says of a row for which there is no partition: no worker ran for months. */
const NO_PARTITION = '23514';

/** Writes that data of people was read. Rejects with a StoreError. */
export async function recordRead(store: Store, read: NewRead): Promise<void> {
  const { actor, action, workspaceId, leadIds, sought, requestId } = read;
  const { erasureKey } = store;
  const hash =
    sought === null || erasureKey === null
      ? null
      : hashIdentity(erasureKey, sought.workspaceId, sought.identity);
  const write = () => store.prisma.$executeRaw`
    INSERT INTO person_read
      (actor_kind, actor_name, action, workspace_id, lead_ids, sought, request_id)
    VALUES (${actor.kind}, ${actor.name}, ${action}, ${workspaceId}::uuid, ${leadIds}::uuid[],
            decode(${hash}, 'hex'), ${requestId})`;
  try {
    await write();
  } catch (error) {
    if (!JSON.stringify(error).includes(NO_PARTITION)) throw withoutValues(error);
    await keepReads(store, LONGEST_DAYS);
    await write();
  }
}

const LONGEST_DAYS = 36_500;

/** Makes the months to come, and lets go those that ended longer ago. Returns how many went. */
export async function keepReads({ prisma }: Store, days: number): Promise<number> {
  const [{ dropped }] = await prisma.$queryRaw<[{ dropped: number }]>`
    SELECT keep_reads(${days}::int)::float8 AS dropped`;
  return dropped;
}

interface Row extends Omit<PersonRead, 'actor'> {
  actorKind: AuditActor['kind'];
  actorName: string;
}

export interface ReadFilter {
  /** Any id of a lead; what was read under its other ids is counted in. */
  leadId?: string;
  /** The whole name of who read. */
  actor?: string;
  since?: Date;
  /** Only those with a lower id than this one, the last of the page before. */
  before?: number;
}

/** Who read what about people, newest first, at most `limit`. */
export async function listReads(
  { prisma }: Store,
  { leadId, actor, since, before, limit }: ReadFilter & { limit: number },
): Promise<PersonRead[]> {
  const conditions = [
    Prisma.sql`true`,
    ...(before === undefined ? [] : [Prisma.sql`r.id < ${before}::bigint`]),
    ...(actor === undefined ? [] : [Prisma.sql`r.actor_name = ${actor}`]),
    ...(since === undefined ? [] : [Prisma.sql`r.at >= ${since}::timestamptz`]),
    ...(leadId === undefined
      ? []
      : [
          Prisma.sql`r.lead_ids && (
            SELECT array_agg(own.id) || ${leadId}::uuid FROM lead asked
            JOIN lead own ON own.workspace_id = asked.workspace_id
              AND (own.id = coalesce(asked.merged_into, asked.id)
                OR own.merged_into = coalesce(asked.merged_into, asked.id))
            WHERE asked.id = ${leadId}::uuid)`,
        ]),
  ];
  const rows = await prisma.$queryRaw<Row[]>`
    SELECT r.id::float8 AS id, r.at, r.actor_kind AS "actorKind", r.actor_name AS "actorName",
           r.action, r.workspace_id AS "workspaceId", r.lead_ids AS "leadIds",
           r.request_id AS "requestId"
    FROM person_read r WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY r.id DESC LIMIT ${limit}`;
  return rows.map(({ actorKind: kind, actorName: name, ...row }) => ({
    ...row,
    actor: { kind, name },
  }));
}
