import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import { OWN_OF_ASKED } from './leads.ts';
import type { Store } from './open-store.ts';
import { storableTexts } from './statements.ts';
import { hashIdentity } from './tombstones.ts';

/** Who did something: an operator or a token by name, the one-time code, or the command line. */
export interface AuditActor {
  kind: 'operator' | 'token' | 'code' | 'command-line';
  name: string;
}

/** Something that was done, or tried. */
export interface AuditEntry {
  id: number;
  /** ISO 8601, UTC. */
  at: string;
  actor: AuditActor;
  /** A short stable name: `link.create`. */
  action: string;
  /** Ids and names of what it was done to. No personal data. */
  subject: Record<string, string>;
  /** Null: it was begun, and the process went away in the middle of it. */
  outcome: 'done' | 'refused' | 'failed' | null;
  requestId: string | null;
}

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
    VALUES (${actor.kind}, ${actor.name}, ${action}, ${JSON.stringify(storableTexts(subject))}::jsonb, ${requestId})
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

interface Row extends Omit<AuditEntry, 'actor' | 'at'> {
  at: Date;
  actorKind: AuditActor['kind'];
  actorName: string;
}

interface AuditFilter {
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

/** Entries that are looked through: a minute has far fewer. */
const RECENT = 2_000;

/** How often somebody began an action within the last `withinMs`. */
export async function actionsOf(
  store: Store,
  { kind, name }: AuditActor,
  action: string,
  withinMs: number,
): Promise<number> {
  const [{ count }] = await store.prisma.$queryRaw<[{ count: number }]>`
    SELECT count(*)::float8 AS count
    FROM (SELECT * FROM audit_entry ORDER BY id DESC LIMIT ${RECENT}) AS recent
    WHERE actor_kind = ${kind} AND actor_name = ${name} AND action = ${action}
      AND at > now() - ${withinMs} * interval '1 millisecond'`;
  return count;
}

/** Somebody read data of people, unmasked. */
export interface PersonRead {
  id: number;
  at: Date;
  actor: AuditActor;
  /** The operation: `lead.show`. */
  action: string;
  /** The workspace, if a whole one was read. */
  workspaceId: string | null;
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

interface ReadRow extends Omit<PersonRead, 'actor'> {
  actorKind: AuditActor['kind'];
  actorName: string;
}

interface ReadFilter {
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
            JOIN lead own ON ${OWN_OF_ASKED}
            WHERE asked.id = ${leadId}::uuid)`,
        ]),
  ];
  const rows = await prisma.$queryRaw<ReadRow[]>`
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
