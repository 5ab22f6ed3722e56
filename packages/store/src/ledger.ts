import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { insertOfTallies, talliesOfGroups, type Tally, minuteOf } from './tally.ts';
import { firstIdAt } from './retention.ts';

/** How far a stream of counts was taken; `verified`: how far its submissions were looked after. */
interface LedgerCursor {
  stream: string;
  counted: string;
  verified: string;
}

const START = '0-0';

export async function ledgerCursor(store: Store, stream: string): Promise<LedgerCursor> {
  const row = await store.prisma.ledgerCursor.findUnique({ where: { stream } });
  return row ?? { stream, counted: START, verified: START };
}

/**
 * Counts what was read of a stream from one entry to another, once: false if another worker did, and
 * nothing was counted.
 */
export async function countEntries(
  store: Store,
  { stream, from, to }: { stream: string; from: string; to: string },
  tallies: readonly Tally[],
): Promise<boolean> {
  try {
    const counted = await store.query(Prisma.sql`
      WITH moved AS (
        INSERT INTO ledger_cursor (stream, counted) VALUES (${stream}, ${to})
        ON CONFLICT (stream) DO UPDATE SET counted = excluded.counted
        WHERE ledger_cursor.counted = ${from}
        RETURNING 1
      )
      ${insertOfTallies(addUp(tallies))} WHERE EXISTS (SELECT FROM moved)
        AND workspace_id::uuid NOT IN (SELECT id FROM removed_workspace)
      RETURNING true AS counted`);
    return counted.length > 0 || tallies.length === 0;
  } catch (error) {
    throw withoutValues(error);
  }
}

/** Those that differ in nothing but their number, as one: none of a stream is of a campaign. */
function addUp(tallies: readonly Tally[]): Tally[] {
  const sums = new Map<string, Tally>();
  let sum: Tally | undefined;
  for (const tally of tallies) {
    const { linkId, at, what, n } = tally;
    if (sum?.linkId !== linkId || sum.at !== at || sum.what !== what) {
      const key = `${linkId} ${at} ${what}`;
      sum = sums.get(key) ?? { ...tally, n: 0 };
      sums.set(key, sum);
    }
    sum.n += n;
  }
  return [...sums.values()];
}

/** A submission that was accepted. */
interface LedgerEntry {
  id: string;
  workspaceId: string;
  linkId: string;
}

/** Accepted submissions that came to no end when their turn had come. */
export interface OpenEntry extends LedgerEntry {
  state: 'failed' | 'missing';
  since: Date;
}

/** How many open entries are looked at: as many are alarm enough. */
const MOST_OPEN = 1_000;

/**
 * The ids of those that are neither stored (nor remembered as imported), nor held, nor discarded, nor of a
 * workspace that was removed.
 */
export async function unsettled(
  store: Store,
  entries: readonly Pick<LedgerEntry, 'id' | 'workspaceId'>[],
): Promise<Set<string>> {
  if (entries.length === 0) return new Set();
  const rows = await store.query<{ id: string }>(Prisma.sql`
    SELECT DISTINCT asked.id
    FROM unnest(${entries.map(({ id }) => id)}::uuid[],
                ${entries.map(({ workspaceId }) => workspaceId)}::uuid[]) AS asked (id, workspace_id)
    WHERE asked.workspace_id NOT IN (SELECT id FROM removed_workspace)
      AND NOT EXISTS (SELECT FROM submission s WHERE s.id = asked.id)
      AND NOT EXISTS (SELECT FROM imported_row r WHERE r.id = asked.id)
      AND NOT EXISTS (SELECT FROM held_submission h WHERE h.id = asked.id)
      AND NOT EXISTS (SELECT FROM discarded_submission d WHERE d.job_id = asked.id::text)
      AND NOT EXISTS (SELECT FROM discarded_submission d WHERE d.submission_id = asked.id)`);
  return new Set(rows.map(({ id }) => id));
}

/** Says that the submissions of a stream were looked after up to an entry; `open`: those that came to no end. */
export async function moveVerified(
  store: Store,
  { stream, to }: { stream: string; to: string },
  open: readonly Omit<OpenEntry, 'since'>[],
): Promise<void> {
  await store.prisma.$executeRaw`
    WITH moved AS (UPDATE ledger_cursor SET verified = ${to} WHERE stream = ${stream})
    INSERT INTO ledger_open (id, workspace_id, link_id, state)
    SELECT DISTINCT ON (id) id, "workspaceId", "linkId", state
    FROM jsonb_to_recordset(${JSON.stringify(open)}::jsonb) AS new (
      id uuid, "workspaceId" uuid, "linkId" uuid, state text)
    ON CONFLICT (id) DO NOTHING`;
}

/** Those that are open, the oldest first. */
export async function listOpen(
  store: Store,
  filter: { workspaceId?: string; linkId?: string } = {},
): Promise<OpenEntry[]> {
  const rows = await store.prisma.ledgerOpen.findMany({
    where: filter,
    orderBy: { since: 'asc' },
    take: MOST_OPEN,
  });
  return rows.map((row) => ({ ...row, state: row.state === 'failed' ? 'failed' : 'missing' }));
}

/** What open entries are found to be now: null, they came to an end. */
export async function settleOpen(
  store: Store,
  found: readonly { id: string; state: OpenEntry['state'] | null }[],
): Promise<void> {
  const ended = found.filter(({ state }) => state === null).map(({ id }) => id);
  if (ended.length > 0) await store.prisma.ledgerOpen.deleteMany({ where: { id: { in: ended } } });
  for (const state of ['failed', 'missing'] as const) {
    const ids = found.filter((one) => one.state === state).map(({ id }) => id);
    if (ids.length > 0)
      // What turns out to be missing is so from now on.
      await store.prisma.ledgerOpen.updateMany({
        where: { id: { in: ids }, NOT: { state } },
        data: { state, since: new Date() },
      });
  }
}

/** A link that has fewer rows than were stored by it. */
export interface MissingRows {
  workspaceId: string;
  linkId: string;
  rows: number;
}

const HOUR_MS = 3_600_000;

/**
 * Links of whose posts of the last hour more were stored than are there: rows that something has deleted
 * since. Nothing of this service does: an erasure leaves the bare row. One statement, so that a commit is
 * seen whole: its rows and their counts.
 */
export async function missingRows(store: Store, now: Date): Promise<MissingRows[]> {
  const from = new Date(minuteOf(now.getTime()) - HOUR_MS);
  return store.prisma.$queryRaw<MissingRows[]>`
    WITH counted AS (
      SELECT subject AS link_id, what, n FROM series_minute WHERE at >= ${from}
      UNION ALL
      SELECT link_id, what, n FROM tally WHERE at >= ${from}
      UNION ALL
      SELECT link_id, what, n FROM (${talliesOfGroups(Prisma.sql`tally_group`)}) AS groups
      WHERE at >= ${from}
    ), stored AS (
      SELECT link_id, sum(CASE what WHEN 'imported' THEN -n ELSE n END) AS n
      FROM counted WHERE what IN ('created', 'updated', 'erased', 'imported') GROUP BY link_id
    ), there AS (
      SELECT link_id, count(*) AS n FROM submission
      WHERE id >= ${firstIdAt(from)}::uuid AND source <> 'import' GROUP BY link_id
    )
    SELECT k.workspace_id AS "workspaceId", k.id AS "linkId",
           (stored.n - coalesce(there.n, 0))::integer AS rows
    FROM stored JOIN capture_link k ON k.id = stored.link_id LEFT JOIN there USING (link_id)
    WHERE stored.n > coalesce(there.n, 0)
    ORDER BY 3 DESC LIMIT ${MOST_OPEN}`;
}

/** How many rows of submissions Postgres says were deleted, ever: seconds old, and another number after a crash. */
export async function deletedSubmissions(store: Store): Promise<number> {
  const [row] = await store.query<{ rows: number }>(Prisma.sql`
    SELECT coalesce(sum(n_tup_del), 0)::float8 AS rows FROM pg_stat_all_tables
    WHERE relid IN (SELECT relid FROM pg_partition_tree('submission'))`);
  return row?.rows ?? 0;
}

/** What was counted of a link since a moment. */
interface LinkSums {
  linkId: string;
  label: string;
  accepted: number;
  resent: number;
  stored: number;
  repeated: number;
  held: number;
  erased: number;
  delivered: number;
  spooled: number;
  refused: number;
}

/** The counts of a workspace's links since the hour of a moment; links without any are left out. */
export async function linkSums(
  store: Store,
  { workspaceId, linkId, since }: { workspaceId: string; linkId?: string; since: Date },
): Promise<LinkSums[]> {
  const sum = (condition: Prisma.Sql) =>
    Prisma.sql`coalesce(sum(s.n) FILTER (WHERE ${condition}), 0)::integer`;
  const of = (...whats: string[]) => sum(Prisma.sql`what = ANY (${whats})`);
  return store.prisma.$queryRaw<LinkSums[]>`
    SELECT k.id AS "linkId", k.label, ${of('accepted')} AS accepted, ${of('resent')} AS resent,
      ${of('created', 'updated')} AS stored, ${of('repeated')} AS repeated, ${of('held')} AS held,
      ${of('erased')} AS erased, ${of('delivered')} AS delivered, ${of('spooled')} AS spooled,
      ${sum(Prisma.sql`what LIKE 'refused:%'`)} AS refused
    FROM capture_link k JOIN series_hour s ON s.subject = k.id
    WHERE k.workspace_id = ${workspaceId}::uuid
      ${linkId === undefined ? Prisma.empty : Prisma.sql`AND k.id = ${linkId}::uuid`}
      AND s.at >= date_trunc('hour', ${since}::timestamptz)
    GROUP BY k.id, k.label ORDER BY accepted DESC, k.id`;
}
