import type {
  BodyType,
  FieldError,
  HeldReason,
  Lead,
  RejectedBody,
  Submission,
} from '@leadgate/contract';
import { Prisma } from './generated/client.ts';
import { minuteOfId } from './ledger.ts';
import type { Store } from './open-store.ts';
import {
  deleteInBatches,
  isoTime,
  microseconds,
  NIL_UUID,
  storable,
  storableTexts,
} from './statements.ts';
import { type KeptTable, keepUnlessErased } from './tombstones.ts';

/** Of a workspace: the newest are looked at, and the causes with most are told. */
const LOOKED_AT = 20_000;
const MOST_CAUSES = 100;

/** What is looked at of a workspace. */
const newest = (
  table: KeptTable,
  workspaceId: string,
  condition = Prisma.sql`true`,
): Prisma.Sql => Prisma.sql`
  SELECT * FROM ${Prisma.raw(table)} WHERE workspace_id = ${workspaceId}::uuid AND ${condition}
  ORDER BY id DESC LIMIT ${LOOKED_AT}`;

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

/** Why submissions of a workspace are held, those with most first. */
export async function heldCauses({ prisma }: Store, workspaceId: string): Promise<HeldCause[]> {
  return prisma.$queryRaw<HeldCause[]>`
    SELECT h.link_id AS "linkId", k.label AS "linkLabel", h.reason, count(*)::integer AS total,
      max(h.created_at) AS newest
    FROM (${newest('held_submission', workspaceId, Prisma.sql`state = 'held'`)}) AS h ${heldJoins}
    GROUP BY 1, 2, 3 ORDER BY total DESC, newest DESC LIMIT ${MOST_CAUSES}`;
}

/** Held submissions of a workspace, decided on or not, whose body holds a text; newest first. */
export async function searchHeld(
  { prisma }: Store,
  { workspaceId, text }: { workspaceId: string; text: string },
  limit: number,
): Promise<HeldSummary[]> {
  const rows = await prisma.$queryRaw<HeldRow[]>`
    SELECT ${heldColumns} FROM (${newest('held_submission', workspaceId)}) AS h ${heldJoins}
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

/** A refused body as it is listed: what was wrong with it, and nothing of what it said. */
export interface RejectedSummary {
  rejectedId: string;
  workspaceId: string;
  linkId: string;
  linkLabel: string | null;
  /** When it was refused: ISO 8601, UTC. */
  at: string;
  /** Of the problem it was answered with. */
  code: string;
  errors: FieldError[];
  bodyType: BodyType;
  /** Of the body as sent, in UTF-8. */
  bytes: number;
  /** When an operator mended it last. */
  mendedAt: Date | null;
  /** The submission that it became after all. */
  submissionId: string | null;
  replayedAt: Date | null;
  /** When an operator said that nothing is to become of it. */
  dismissedAt: Date | null;
}

/** What is read of a refused body in a list; `rejectedJoins` belongs to it. */
const rejectedColumns = Prisma.sql`
  r.id AS "rejectedId", r.workspace_id AS "workspaceId", r.link_id AS "linkId",
  k.label AS "linkLabel", r.stamp::float8 AS stamp, r.code, r.errors, r.body_type AS "bodyType",
  octet_length(r.body) AS bytes, r.mended_at AS "mendedAt", r.submission_id AS "submissionId",
  r.replayed_at AS "replayedAt", r.dismissed_at AS "dismissedAt"`;

/** What waits for an operator. */
const WAITS = Prisma.sql`submission_id IS NULL AND dismissed_at IS NULL`;

const rejectedJoins = Prisma.sql`LEFT JOIN capture_link k ON k.id = r.link_id`;

/** A row of `rejectedColumns`: its time is microseconds since 1970. */
type RejectedRow = Omit<RejectedSummary, 'at'> & { stamp: number };

/** A listed body from its row. */
function readRejectedSummary({ stamp, ...row }: RejectedRow): RejectedSummary {
  return { ...row, at: isoTime(stamp) };
}

export interface RejectedFilter {
  workspaceId?: string;
  linkId?: string;
  /** Of the problem: `invalid-lead`, or that of one of its errors: `email`. */
  code?: string;
  /** Of what was wrong with it, all together: see RejectedCause. */
  cause?: string;
  /** Only those refused at this moment or later. */
  since?: Date;
  /** Only those refused before this moment. */
  until?: Date;
  /** Only those that have become a submission (true), or that wait for an operator (false). */
  replayed?: boolean;
  /** Only those that were dismissed, at this moment if one is named. */
  dismissed?: true | Date;
  ids?: readonly string[];
  /** Only those with a lower id than this one, the last of the page before. */
  before?: string;
}

/** Refused bodies, newest first by id (ids are ordered in time), at most `limit`. */
export async function listRejected(
  store: Store,
  filter: RejectedFilter,
  limit: number,
): Promise<RejectedSummary[]> {
  const rows = await store.prisma.$queryRaw<RejectedRow[]>`
    SELECT ${rejectedColumns} FROM rejected_submission r ${rejectedJoins}
    WHERE ${Prisma.join(conditionsOf(filter), ' AND ')}
    ORDER BY r.id DESC LIMIT ${limit}`;
  return rows.map(readRejectedSummary);
}

function conditionsOf(filter: RejectedFilter): Prisma.Sql[] {
  const { workspaceId, linkId, code, cause, since, until, replayed, before } = filter;
  const { dismissed, ids } = filter;
  return [
    Prisma.sql`true`,
    ...(workspaceId === undefined ? [] : [Prisma.sql`r.workspace_id = ${workspaceId}::uuid`]),
    ...(linkId === undefined ? [] : [Prisma.sql`r.link_id = ${linkId}::uuid`]),
    ...(code === undefined
      ? []
      : [
          Prisma.sql`(r.code = ${code}
            OR r.errors @> ${JSON.stringify([{ code }])}::jsonb)`,
        ]),
    ...(cause === undefined ? [] : [Prisma.sql`${CAUSE} = ${cause}`]),
    ...(since === undefined ? [] : [Prisma.sql`r.stamp >= ${microseconds(since)}::bigint`]),
    ...(until === undefined ? [] : [Prisma.sql`r.stamp < ${microseconds(until)}::bigint`]),
    ...(replayed === undefined ? [] : [replayed ? Prisma.sql`r.submission_id IS NOT NULL` : WAITS]),
    ...(dismissed === undefined ? [] : [Prisma.sql`r.dismissed_at IS NOT NULL`]),
    ...(dismissed instanceof Date ? [Prisma.sql`r.dismissed_at = ${dismissed}`] : []),
    ...(ids === undefined ? [] : [Prisma.sql`r.id = ANY(${ids}::uuid[])`]),
    ...(before === undefined ? [] : [Prisma.sql`r.id < ${before}::uuid`]),
  ];
}

/** Names all that was wrong with a refused body together, in whatever order. */
const CAUSE = Prisma.sql`md5(r.code || coalesce((
  SELECT string_agg((e ->> 'pointer') || ' ' || (e ->> 'code'), ',' ORDER BY e ->> 'pointer', e ->> 'code')
  FROM jsonb_array_elements(r.errors) AS e), ''))`;

/** Bodies of a link that were refused for the same, and have not become submissions. */
interface RejectedCause {
  /** Of what was wrong: the same for every link. */
  cause: string;
  linkId: string;
  linkLabel: string | null;
  code: string;
  errors: Pick<FieldError, 'pointer' | 'code'>[];
  total: number;
  oldest: Date;
  newest: Date;
}

/** Why bodies of a workspace were refused that wait for an operator, those with most first. */
export async function rejectedCauses(
  { prisma }: Store,
  workspaceId: string,
): Promise<RejectedCause[]> {
  return prisma.$queryRaw<RejectedCause[]>`
    SELECT ${CAUSE} AS cause, r.link_id AS "linkId", k.label AS "linkLabel", min(r.code) AS code,
      (min(r.errors::text))::jsonb AS errors, count(*)::integer AS total,
      to_timestamp(min(r.stamp) / 1e6) AS oldest, to_timestamp(max(r.stamp) / 1e6) AS newest
    FROM (${newest('rejected_submission', workspaceId, WAITS)}) AS r ${rejectedJoins}
    GROUP BY 1, 2, 3 ORDER BY total DESC, newest DESC LIMIT ${MOST_CAUSES}`;
}

/** Refused bodies of a workspace that hold a text, as it is or as a form writes it; newest first. */
export async function searchRejected(
  { prisma }: Store,
  { workspaceId, text }: { workspaceId: string; text: string },
  limit: number,
): Promise<RejectedSummary[]> {
  const texts = [text, encodeURIComponent(text)].map((one) => one.toLowerCase());
  const rows = await prisma.$queryRaw<RejectedRow[]>`
    SELECT ${rejectedColumns} FROM (${newest('rejected_submission', workspaceId)}) AS r ${rejectedJoins}
    WHERE position(${texts[0]} IN lower(r.body)) > 0 OR position(${texts[1]} IN lower(r.body)) > 0
    ORDER BY r.id DESC LIMIT ${limit}`;
  return rows.map(readRejectedSummary);
}

/** A refused body with all that was kept of it. */
export interface RejectedDetails extends RejectedSummary {
  /** When it was refused: microseconds since 1970. */
  stamp: number;
  /** As sent. */
  body: string;
  mended: { body: string; bodyType: BodyType } | null;
  page: string | null;
  userAgent: string | null;
  /** The sender's network address. */
  address: string | null;
}

type RejectedDetailsRow = RejectedRow &
  Pick<RejectedDetails, 'body' | 'page' | 'userAgent' | 'address'> & {
    mendedBody: string | null;
    mendedBodyType: BodyType | null;
  };

/** One refused body; null if there is none of this id. */
export async function showRejected(
  store: Store,
  rejectedId: string,
): Promise<RejectedDetails | null> {
  const [row] = await store.prisma.$queryRaw<RejectedDetailsRow[]>`
    SELECT ${rejectedColumns}, r.body, r.page, r.user_agent AS "userAgent", r.address,
           r.mended_body AS "mendedBody", r.mended_body_type AS "mendedBodyType"
    FROM rejected_submission r ${rejectedJoins}
    WHERE r.id = ${rejectedId}::uuid`;
  if (row === undefined) return null;
  const { mendedBody, mendedBodyType, body, page, userAgent, address, ...summary } = row;
  return {
    ...readRejectedSummary(summary),
    stamp: row.stamp,
    body,
    mended:
      mendedBody === null || mendedBodyType === null
        ? null
        : { body: mendedBody, bodyType: mendedBodyType },
    page,
    userAgent,
    address,
  };
}

/**
 * Keeps refused bodies for an operator to mend. One that is there already stays as it is, so that
 * saving again is harmless. Rejects with a StoreError.
 */
export async function saveRejected(store: Store, bodies: readonly RejectedBody[]): Promise<void> {
  if (bodies.length === 0) return;
  const kept = storableTexts(bodies)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((row) => ({ ...row, content: { body: row.body, page: row.page } }));
  await keepUnlessErased(
    store,
    'rejected_submission',
    kept,
    (db, rows) => db.$executeRaw`
        INSERT INTO rejected_submission
          (id, workspace_id, link_id, stamp, code, errors, body, body_type, page, user_agent, address)
        SELECT * FROM unnest(
          ${rows.map((row) => row.id)}::uuid[],
          ${rows.map((row) => row.workspaceId)}::uuid[],
          ${rows.map((row) => row.linkId)}::uuid[],
          ${rows.map((row) => row.stamp)}::bigint[],
          ${rows.map((row) => row.code)}::text[],
          ${rows.map((row) => JSON.stringify(row.errors))}::jsonb[],
          ${rows.map((row) => row.body)}::text[],
          ${rows.map((row) => row.bodyType)}::text[],
          ${rows.map((row) => row.page ?? null)}::text[],
          ${rows.map((row) => row.userAgent ?? null)}::text[],
          ${rows.map((row) => row.address ?? null)}::text[])
        ON CONFLICT (id) DO NOTHING`,
  );
}

/**
 * Keeps a mended body beside the one that was sent. False if there is none of this id that is
 * still to be replayed.
 */
export async function keepMended(
  store: Store,
  rejectedId: string,
  mended: { body: string; bodyType: BodyType },
): Promise<boolean> {
  const { body, bodyType } = storableTexts(mended);
  const changed = await store.prisma.$executeRaw`
    UPDATE rejected_submission
    SET mended_body = ${body}, mended_body_type = ${bodyType}, mended_at = now()
    WHERE id = ${rejectedId}::uuid AND submission_id IS NULL`;
  return changed === 1;
}

/** Writes that a refused body became this submission. */
export async function markReplayed(
  store: Store,
  rejectedId: string,
  submissionId: string,
): Promise<void> {
  await store.prisma.$executeRaw`
    UPDATE rejected_submission SET submission_id = ${submissionId}::uuid, replayed_at = now()
    WHERE id = ${rejectedId}::uuid AND submission_id IS NULL`;
}

/**
 * Writes that nothing is to become of the refused bodies that fit, from `at` on; null: that they wait again.
 * They stay as long as others do. Returns how many it was of.
 */
export async function dismissRejected(
  store: Store,
  filter: RejectedFilter,
  at: Date | null,
): Promise<number> {
  return store.prisma.$executeRaw`
    UPDATE rejected_submission r SET dismissed_at = ${at}
    WHERE ${Prisma.join(conditionsOf(filter), ' AND ')}`;
}

/**
 * Lets the oldest refused bodies of a link go until it has at most `keep`. Returns how many went.
 */
export async function trimRejected(store: Store, linkId: string, keep: number): Promise<number> {
  return deleteInBatches(
    (limit) => store.prisma.$executeRaw`
      DELETE FROM rejected_submission WHERE id IN (
        SELECT id FROM rejected_submission
        WHERE link_id = ${linkId}::uuid AND id <= (
          SELECT id FROM rejected_submission WHERE link_id = ${linkId}::uuid
          ORDER BY id DESC OFFSET ${keep} LIMIT 1)
        ORDER BY id LIMIT ${limit})`,
  );
}

/** A failed job that an operator gave up. Ids are null if the job could not be read. */
interface DiscardedSubmission {
  jobId: string;
  discardedAt: Date;
  /** The operator's. */
  reason: string;
  /** The job's last failure. */
  failure: string;
  submissionId: string | null;
  workspaceId: string | null;
  linkId: string | null;
  /** All that it carried. */
  content: unknown;
}

/**
 * Keeps what a failed job carried, before it is taken out of the queue; nothing of a person who was
 * erased since it was sent.
 */
export async function keepDiscarded(store: Store, discarded: DiscardedSubmission): Promise<void> {
  const { jobId, discardedAt, reason, failure, submissionId, workspaceId, linkId, content } =
    storableTexts({ ...discarded, discardedAt: discarded.discardedAt.toISOString() });
  const kept = { workspaceId: workspaceId ?? NIL_UUID, stamp: stampOf(content), content };
  await keepUnlessErased(
    store,
    'discarded_submission',
    [kept],
    (db) => db.$executeRaw`
      INSERT INTO discarded_submission
        (job_id, discarded_at, reason, failure, submission_id, workspace_id, link_id, content)
      VALUES (${jobId}, ${discardedAt}::timestamptz, ${reason}, ${failure}, ${submissionId}::uuid,
              ${workspaceId}::uuid, ${linkId}::uuid, ${JSON.stringify(content)}::jsonb)`,
  );
}

/** The stamp of a submission that was kept as JSON; 0, before every erasure, if it is none. */
export function stampOf(content: unknown): number {
  const stamp: unknown =
    typeof content === 'object' && content !== null ? Reflect.get(content, 'stamp') : null;
  return typeof stamp === 'number' ? stamp : 0;
}
