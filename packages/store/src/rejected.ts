import type { BodyType, FieldError, RejectedBody } from '@leadgate/contract';
import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { deleteInBatches } from './retention.ts';
import { isoTime, microseconds, storableTexts } from './statements.ts';
import { keepUnlessErased } from './tombstones.ts';

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
const WAITS = Prisma.sql`r.submission_id IS NULL AND r.dismissed_at IS NULL`;

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

/** Of a workspace: the newest bodies are looked at, and the causes with most are told. */
const LOOKED_AT = 20_000;
const MOST_CAUSES = 100;

/** Why bodies of a workspace were refused that wait for an operator, those with most first. */
export async function rejectedCauses(
  { prisma }: Store,
  workspaceId: string,
): Promise<RejectedCause[]> {
  return prisma.$queryRaw<RejectedCause[]>`
    SELECT ${CAUSE} AS cause, r.link_id AS "linkId", k.label AS "linkLabel", min(r.code) AS code,
      (min(r.errors::text))::jsonb AS errors, count(*)::integer AS total,
      to_timestamp(min(r.stamp) / 1e6) AS oldest, to_timestamp(max(r.stamp) / 1e6) AS newest
    FROM (
      SELECT * FROM rejected_submission r
      WHERE workspace_id = ${workspaceId}::uuid AND ${WAITS}
      ORDER BY id DESC LIMIT ${LOOKED_AT}
    ) AS r ${rejectedJoins}
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
    SELECT ${rejectedColumns} FROM (
      SELECT * FROM rejected_submission WHERE workspace_id = ${workspaceId}::uuid
      ORDER BY id DESC LIMIT ${LOOKED_AT}
    ) AS r ${rejectedJoins}
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

type DetailsRow = RejectedRow &
  Pick<RejectedDetails, 'body' | 'page' | 'userAgent' | 'address'> & {
    mendedBody: string | null;
    mendedBodyType: BodyType | null;
  };

/** One refused body; null if there is none of this id. */
export async function showRejected(
  store: Store,
  rejectedId: string,
): Promise<RejectedDetails | null> {
  const [row] = await store.prisma.$queryRaw<DetailsRow[]>`
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
  try {
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
  } catch (error) {
    throw withoutValues(error);
  }
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
