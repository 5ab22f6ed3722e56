import { DELIVERIES_CHANNEL } from './apply/lead-rows.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';

export const ALARM_KINDS = [
  'silence',
  'drift',
  'refusals',
  'ledger',
  'deliveries',
  'queue',
] as const;
type AlarmKind = (typeof ALARM_KINDS)[number];

/** What somebody should look at. */
export interface FoundAlarm {
  kind: AlarmKind;
  /** The id of a link or an endpoint, or `queue`. */
  subject: string;
  /** Null: it is about the installation. */
  workspaceId: string | null;
  /** Counts, shares and names of fields: nothing of a person. */
  facts: Record<string, number | string>;
}

export interface Alarm extends FoundAlarm {
  id: string;
  /** What the link or endpoint is called. */
  label: string;
  openedAt: Date;
  /** Null: it is open. */
  closedAt: Date | null;
}

/**
 * Opens the alarms that are found and were not open, and closes those of these kinds that are not found any
 * more; endpoints that ask for alarms are told, with the same statement. Two workers at once open none twice.
 */
export async function settleAlarms(
  store: Store,
  kinds: readonly AlarmKind[],
  found: readonly FoundAlarm[],
): Promise<{ opened: FoundAlarm[]; closed: FoundAlarm[] }> {
  const columns = Prisma.sql`kind, subject, workspace_id AS "workspaceId", facts`;
  const opened = await store.prisma.$queryRaw<FoundAlarm[]>`
    WITH settled AS (
      INSERT INTO alarm (kind, subject, workspace_id, facts)
      SELECT kind, subject, "workspaceId", facts
    FROM jsonb_to_recordset(${JSON.stringify(found)}::jsonb) AS new (
      kind text, subject text, "workspaceId" uuid, facts jsonb)
    WHERE NOT EXISTS (SELECT FROM removed_workspace r WHERE r.id = "workspaceId")
    ON CONFLICT (kind, subject) WHERE closed_at IS NULL DO NOTHING
      RETURNING *
    ), told AS (${tellEndpoints('alarm.opened', 1)})
    SELECT ${columns}, (SELECT count(pg_notify(${DELIVERIES_CHANNEL}, '')) FROM told)::integer AS told
    FROM settled`;
  const closed = await store.prisma.$queryRaw<FoundAlarm[]>`
    WITH settled AS (
      UPDATE alarm SET closed_at = now()
      WHERE closed_at IS NULL AND kind = ANY (${kinds})
      AND (kind, subject) NOT IN (
        SELECT * FROM unnest(${found.map(({ kind }) => kind)}::text[],
                             ${found.map(({ subject }) => subject)}::text[]))
      RETURNING *
    ), told AS (${tellEndpoints('alarm.closed', 2)})
    SELECT ${columns}, (SELECT count(pg_notify(${DELIVERIES_CHANNEL}, '')) FROM told)::integer AS told
    FROM settled`;
  return { opened, closed };
}

/**
 * What waits for an endpoint and an alarm is one delivery, as of a lead. Not of an endpoint to itself; one for some
 * links hears of these only.
 */
const tellEndpoints = (event: 'alarm.opened' | 'alarm.closed', version: number) => Prisma.sql`
  INSERT INTO delivery (endpoint_id, lead_id, workspace_id, event, version, due_at)
  SELECT e.id, settled.id, e.workspace_id, ${event}, ${version}, now()
  FROM settled JOIN endpoint e
    ON settled.workspace_id IS NULL OR e.workspace_id = settled.workspace_id
  WHERE ${event} = ANY (e.events) AND e.id::text <> settled.subject
    AND (e.link_ids = '{}' OR settled.subject = ANY (e.link_ids::text[]))
  ORDER BY e.id, settled.id
  ON CONFLICT (endpoint_id, lead_id) DO UPDATE SET
    event = excluded.event, version = excluded.version, failed_at = NULL,
    due_at = coalesce(delivery.due_at, excluded.due_at)
  RETURNING 1`;

/** Alarms, the newest first: those that are open, or all of them. */
export async function listAlarms(
  store: Store,
  { workspaceId, all = false }: { workspaceId?: string; all?: boolean },
  limit: number,
): Promise<Alarm[]> {
  return store.prisma.$queryRaw<Alarm[]>`
    SELECT a.id, a.kind, a.subject, a.workspace_id AS "workspaceId", a.facts,
      coalesce(k.label, e.name, '') AS label, a.opened_at AS "openedAt", a.closed_at AS "closedAt"
    FROM alarm a LEFT JOIN capture_link k ON k.id::text = a.subject
      LEFT JOIN endpoint e ON e.id::text = a.subject
    WHERE ${all ? Prisma.sql`true` : Prisma.sql`a.closed_at IS NULL`}
      ${workspaceId === undefined ? Prisma.empty : Prisma.sql`AND a.workspace_id = ${workspaceId}::uuid`}
    ORDER BY a.opened_at DESC LIMIT ${limit}`;
}

export async function openAlarms(store: Store): Promise<Record<AlarmKind, number>> {
  const rows = await store.prisma.$queryRaw<{ kind: AlarmKind; n: number }[]>`
    SELECT kind, count(*)::integer AS n FROM alarm WHERE closed_at IS NULL GROUP BY kind`;
  const counts = { silence: 0, drift: 0, refusals: 0, ledger: 0, deliveries: 0, queue: 0 };
  for (const { kind, n } of rows) counts[kind] = n;
  return counts;
}

/** Tells a link to be quiet until a moment: its silence opens no alarm. */
export async function quietLink(store: Store, linkId: string, until: Date): Promise<void> {
  await store.prisma.linkQuiet.upsert({
    where: { linkId },
    create: { linkId, until },
    update: { until },
  });
}

/** The history of a link that is open: what was posted in the last four weeks, but for this hour. */
export interface WatchedLink {
  linkId: string;
  workspaceId: string;
  /** Posts by hour of the week, 0 to 167 from Sunday (UTC). */
  posts: Record<string, number>;
  since: Date;
  /** Of the last week. */
  usual: { posts: number; refused: number };
}

const POSTED = Prisma.sql`(what = 'accepted' OR what LIKE 'refused:%')`;

export async function watchedLinks(store: Store): Promise<WatchedLink[]> {
  const sum = (condition: Prisma.Sql) =>
    Prisma.sql`(coalesce(sum(n) FILTER (WHERE ${condition}), 0))::integer`;
  return store.prisma.$queryRaw<WatchedLink[]>`
    WITH slots AS (
      SELECT k.id, k.workspace_id, s.at, sum(n)::integer AS n,
        ${sum(Prisma.sql`what <> 'accepted'`)} AS refused
      FROM capture_link k JOIN series_hour s ON s.subject = k.id
      WHERE k.state = 'open' AND ${POSTED}
        AND s.at >= now() - interval '28 days' AND s.at < date_trunc('hour', now())
      GROUP BY k.id, k.workspace_id, s.at
    ), weekly AS (
      SELECT id, extract(dow FROM at)::integer * 24 + extract(hour FROM at)::integer AS slot,
        sum(n)::integer AS n FROM slots GROUP BY 1, 2
    )
    SELECT id AS "linkId", workspace_id AS "workspaceId", min(at) AS since,
      (SELECT json_object_agg(slot, n) FROM weekly w WHERE w.id = slots.id) AS posts,
      json_build_object(
        'posts', ${sum(Prisma.sql`at > now() - interval '7 days'`)},
        'refused', coalesce(sum(refused) FILTER (WHERE at > now() - interval '7 days'), 0)
      ) AS usual
    FROM slots GROUP BY id, workspace_id`;
}

/** What came by a link of late. */
export interface RecentPosts {
  linkId: string;
  /** The begin of the last minute that had a post, in the last two days. */
  lastAt: Date | null;
  /** In the six hours up to its end. */
  recent: number;
  /** Since the begin of its hour. */
  ofHour: number;
  /** In the last quarter of an hour. */
  posts: number;
  refused: number;
  /** Told to be quiet, or closed. */
  quiet: boolean;
}

export async function recentPosts(
  store: Store,
  linkIds: readonly string[],
): Promise<RecentPosts[]> {
  return store.prisma.$queryRaw<RecentPosts[]>`
    SELECT k.id AS "linkId", last.at AS "lastAt", coalesce(level.n, 0)::integer AS recent,
      coalesce(level.of_hour, 0)::integer AS "ofHour",
      coalesce(quarter.posts, 0)::integer AS posts, coalesce(quarter.refused, 0)::integer AS refused,
      k.state <> 'open' OR coalesce(q.until > now(), false)
        OR NOT EXISTS (SELECT FROM capture_code c
          WHERE c.link_id = k.id AND (c.expires_at IS NULL OR c.expires_at > now())) AS quiet
    FROM capture_link k LEFT JOIN link_quiet q ON q.link_id = k.id
    LEFT JOIN LATERAL (
      SELECT at FROM series_minute WHERE subject = k.id AND ${POSTED}
      ORDER BY at DESC LIMIT 1) AS last ON true
    LEFT JOIN LATERAL (
      SELECT sum(n) AS n, sum(n) FILTER (WHERE at >= date_trunc('hour', last.at)) AS of_hour
      FROM series_minute
      WHERE subject = k.id AND ${POSTED} AND at > last.at - interval '6 hours') AS level ON true
    LEFT JOIN LATERAL (
      SELECT sum(n) AS posts, sum(n) FILTER (WHERE what <> 'accepted') AS refused
      FROM series_minute
      WHERE subject = k.id AND ${POSTED} AND at > now() - interval '15 minutes') AS quarter ON true
    WHERE k.id = ANY (${linkIds}::uuid[])`;
}

/** What came in a workspace by hour, in the last two days. */
export async function hoursOfWorkspaces(
  store: Store,
  workspaceIds: readonly string[],
): Promise<{ workspaceId: string; at: Date; posts: number }[]> {
  return store.prisma.$queryRaw`
    SELECT subject AS "workspaceId", at, sum(n)::integer AS posts FROM series_hour
    WHERE subject = ANY (${workspaceIds}::uuid[]) AND ${POSTED}
      AND at >= date_trunc('hour', now()) - interval '49 hours'
    GROUP BY subject, at`;
}

/** Silences of links that ended in the last four weeks: how many posts would have been usual in all of it. */
export async function endedSilences(store: Store): Promise<{ linkId: string; expected: number }[]> {
  return store.prisma.$queryRaw`
    SELECT subject AS "linkId", ((facts->>'expected')::float8
      * (1 + extract(epoch FROM closed_at - opened_at) / 60 / (facts->>'minutes')::float8))::float8 AS expected
    FROM alarm
    WHERE kind = 'silence' AND closed_at > now() - interval '28 days' AND facts ? 'minutes'`;
}

/** Endpoints that are disabled, or have taken nothing for half of the time after which they are. */
export async function endpointsNearTheirEnd(
  store: Store,
): Promise<{ endpointId: string; workspaceId: string; hours: number }[]> {
  return store.prisma.$queryRaw`
    SELECT id AS "endpointId", workspace_id AS "workspaceId",
      coalesce(extract(epoch FROM now() - failing_since) / 3600, 0)::integer AS hours
    FROM endpoint
    WHERE state = 'disabled' OR (state = 'active' AND failing_since < now() - interval '36 hours')`;
}
