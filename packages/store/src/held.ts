import type { HeldReason, Lead, Submission } from '@leadgate/contract';
import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { minuteOfId } from './tally.ts';
import { isoTime, storable } from './statements.ts';
import { keepUnlessErased } from './tombstones.ts';

/** What became of a held submission. */
export type HeldState = 'held' | 'released' | 'discarded';

/** A held submission as it is listed. */
export interface HeldSummary {
  heldId: string;
  workspaceId: string;
  linkId: string;
  linkLabel: string | null;
  reason: HeldReason;
  state: HeldState;
  /** When it was posted: ISO 8601, UTC. */
  at: string;
  answeredLeadId: string;
  /** What it sent, normalised. */
  lead: Lead;
  decidedAt: Date | null;
}

/** What is read of a held submission; `heldJoins` belongs to it. */
const heldColumns = Prisma.sql`
  h.id AS "heldId", h.workspace_id AS "workspaceId", h.link_id AS "linkId",
  k.label AS "linkLabel", h.reason, h.state, h.content, h.decided_at AS "decidedAt"`;
const heldJoins = Prisma.sql`LEFT JOIN capture_link k ON k.id = h.link_id`;

type HeldRow = Omit<HeldSummary, 'at' | 'answeredLeadId' | 'lead'> & {
  /** As it was encoded by this service. */
  content: Submission;
};

function readHeldSummary({ content, ...row }: HeldRow): HeldSummary {
  return {
    ...row,
    at: isoTime(content.stamp),
    answeredLeadId: content.answeredLeadId ?? content.leadId,
    lead: content.lead,
  };
}

interface HeldFilter {
  workspaceId?: string;
  linkId?: string;
  reason?: string;
  /** Those that wait where left out. */
  state?: HeldState;
  /** Only those with a lower id than this one, the last of the page before. */
  before?: string;
}

/** Held submissions, newest first by id (ids are ordered in time), at most `limit`. */
export async function listHeld(
  store: Store,
  { workspaceId, linkId, reason, state = 'held', before }: HeldFilter,
  limit: number,
): Promise<HeldSummary[]> {
  const conditions = [
    Prisma.sql`h.state = ${state}`,
    ...(workspaceId === undefined ? [] : [Prisma.sql`h.workspace_id = ${workspaceId}::uuid`]),
    ...(linkId === undefined ? [] : [Prisma.sql`h.link_id = ${linkId}::uuid`]),
    ...(reason === undefined ? [] : [Prisma.sql`h.reason = ${reason}`]),
    ...(before === undefined ? [] : [Prisma.sql`h.id < ${before}::uuid`]),
  ];
  const rows = await store.prisma.$queryRaw<HeldRow[]>`
    SELECT ${heldColumns} FROM held_submission h ${heldJoins}
    WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY h.id DESC LIMIT ${limit}`;
  return rows.map(readHeldSummary);
}

/** Submissions of a link that are held for the same reason. */
export interface HeldCause {
  linkId: string;
  linkLabel: string | null;
  reason: HeldReason;
  total: number;
  newest: Date;
}

/** Of a workspace: the newest are looked at, and the causes with most are told. */
const LOOKED_AT = 20_000;
const MOST_CAUSES = 100;

/** Why submissions of a workspace are held, those with most first. */
export async function heldCauses({ prisma }: Store, workspaceId: string): Promise<HeldCause[]> {
  return prisma.$queryRaw<HeldCause[]>`
    SELECT h.link_id AS "linkId", k.label AS "linkLabel", h.reason, count(*)::integer AS total,
      max(h.created_at) AS newest
    FROM (
      SELECT * FROM held_submission
      WHERE state = 'held' AND workspace_id = ${workspaceId}::uuid
      ORDER BY id DESC LIMIT ${LOOKED_AT}
    ) AS h ${heldJoins}
    GROUP BY 1, 2, 3 ORDER BY total DESC, newest DESC LIMIT ${MOST_CAUSES}`;
}

/** Held submissions of a workspace, decided on or not, whose body holds a text; newest first. */
export async function searchHeld(
  { prisma }: Store,
  { workspaceId, text }: { workspaceId: string; text: string },
  limit: number,
): Promise<HeldSummary[]> {
  const rows = await prisma.$queryRaw<HeldRow[]>`
    SELECT ${heldColumns} FROM (
      SELECT * FROM held_submission WHERE workspace_id = ${workspaceId}::uuid
      ORDER BY id DESC LIMIT ${LOOKED_AT}
    ) AS h ${heldJoins}
    WHERE position(${text.toLowerCase()} IN lower(h.content::text)) > 0
    ORDER BY h.id DESC LIMIT ${limit}`;
  return rows.map(readHeldSummary);
}

/** A held submission with all that was kept of it. */
export interface HeldDetails extends HeldSummary {
  submission: Submission;
}

/** One held submission, decided on or not; null if there is none of this id. */
export async function showHeld(store: Store, heldId: string): Promise<HeldDetails | null> {
  const [row] = await store.prisma.$queryRaw<HeldRow[]>`
    SELECT ${heldColumns} FROM held_submission h ${heldJoins} WHERE h.id = ${heldId}::uuid`;
  return row === undefined ? null : { ...readHeldSummary(row), submission: row.content };
}

/**
 * Keeps held submissions for an operator. One that is there already, or was applied under its id,
 * stays as it is, so that saving again is harmless. What is of a person who was erased since is not
 * kept. Rejects with a StoreError.
 */
export async function saveHeld(store: Store, submissions: readonly Submission[]): Promise<void> {
  if (submissions.length === 0) return;
  const kept = submissions
    .map(storable)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((content) => ({ workspaceId: content.workspaceId, stamp: content.stamp, content }));
  try {
    await keepUnlessErased(store, 'held_submission', kept, (db, all) => {
      const rows = all.map(({ content }) => ({
        id: content.id,
        workspaceId: content.workspaceId,
        linkId: content.linkId,
        reason: content.held?.reason,
        content,
      }));
      return db.$executeRaw`
        WITH kept AS (
          INSERT INTO held_submission (id, workspace_id, link_id, reason, content)
          SELECT new.id, new."workspaceId", new."linkId", new.reason, new.content
          FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS new (
            id uuid, "workspaceId" uuid, "linkId" uuid, reason text, content jsonb)
          WHERE NOT EXISTS (SELECT 1 FROM submission s WHERE s.id = new.id)
          ON CONFLICT (id) DO NOTHING
          RETURNING id, workspace_id, link_id
        )
        INSERT INTO tally (workspace_id, link_id, at, what, n)
        SELECT workspace_id, link_id, minutes.at, 'held', count(*)
        FROM kept JOIN jsonb_to_recordset(${JSON.stringify(minutes(all))}::jsonb)
          AS minutes (id uuid, at timestamptz) USING (id)
        GROUP BY 1, 2, 3`;
    });
  } catch (error) {
    throw withoutValues(error);
  }
}

const minutes = (all: readonly { content: Submission }[]): object[] =>
  all.map(({ content: { id } }) => ({ id, at: new Date(minuteOfId(id)) }));

/**
 * Puts down what became of a held submission. What was released stays so; what was discarded can
 * still be released, or be held again. Returns what it is now; null if there is none of this id.
 */
export async function decideHeld(
  store: Store,
  heldId: string,
  state: HeldState,
): Promise<HeldState | null> {
  const [row] = await store.prisma.$queryRaw<{ state: HeldState }[]>`
    UPDATE held_submission
    SET decided_at = CASE WHEN state IN ('released', ${state}) THEN decided_at
                          WHEN ${state} = 'held' THEN NULL ELSE now() END,
        state = CASE WHEN state = 'released' THEN state ELSE ${state} END
    WHERE id = ${heldId}::uuid
    RETURNING state`;
  return row?.state ?? null;
}
