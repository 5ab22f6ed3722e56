import { hash } from 'node:crypto';
import { Prisma } from './generated/client.ts';
import { type Counted, seeShapes, SHAPE, talliesOfGroups, type Tally, type Utm } from './ledger.ts';
import type { Store } from './open-store.ts';
import { type Statements, transact } from './statements.ts';

/** What is added up at once: counts, and groups of them. */
const BATCH = 20_000;
const GROUPS = 1_000;

/** How many campaigns a workspace has by name: whoever posts may write any. The others are one. */
const MOST_CAMPAIGNS = 5_000;
const OTHER = '(other)';

/** How long each grain is kept. */
const KEPT = {
  series_minute: Prisma.sql`interval '2 days'`,
  series_hour: Prisma.sql`interval '2 years'`,
  series_day: Prisma.sql`interval '2 years 1 month'`,
};

/** A subject of campaigns: its id says its name. */
interface Campaign {
  id: string;
  workspaceId: string;
  kind: 'campaign' | 'source';
  utm: string[];
}

/** The id of what is called so in a workspace: `name` is its id, the kind and the names, as JSON. */
function campaignId(name: string): string {
  const hex = hash('sha256', name);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

interface TallyRow extends Omit<Tally, 'at'> {
  at: Date;
}

/**
 * Adds up what was counted since the last time: by minute, hour and day, and for comparing. Returns how
 * many counts there were. In one transaction: what fails is added up the next time.
 */
export async function addUpTallies(store: Store): Promise<number> {
  const [one] = await store.query<{ there: boolean }>(
    Prisma.sql`SELECT EXISTS (SELECT FROM tally) OR EXISTS (SELECT FROM tally_group) AS there`,
  );
  if (one?.there !== true) return 0;
  return transact(store, async (tx) => {
    const tallies = await tx.$queryRaw<TallyRow[]>`
      WITH ones AS (
        DELETE FROM tally WHERE id IN (
          SELECT id FROM tally ORDER BY id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
        RETURNING *
      ), groups AS (
        DELETE FROM tally_group WHERE id IN (
          SELECT id FROM tally_group ORDER BY id LIMIT ${GROUPS} FOR UPDATE SKIP LOCKED)
        RETURNING *
      ), taken AS (
        SELECT id, workspace_id, link_id, at, what, utm, n FROM ones
        UNION ALL ${talliesOfGroups(Prisma.sql`groups`)}
      )
      SELECT workspace_id AS "workspaceId", link_id AS "linkId", at, what, utm, sum(n)::integer AS n
      FROM taken GROUP BY workspace_id, link_id, at, what, utm ORDER BY min(id)`;
    const isShape = ({ what }: TallyRow) => what.startsWith(SHAPE);
    await seeShapes(tx, tallies.filter(isShape));
    const counts = tallies.filter((one) => !isShape(one));
    if (counts.length > 0) await addTo(tx, await subjectsOf(tx, counts));
    return tallies.length;
  });
}

/** What a count is added to. */
interface SubjectCount {
  workspaceId: string;
  kind: 'workspace' | 'link' | Campaign['kind'];
  subject: string;
  at: Date;
  what: Counted;
  n: number;
}

async function subjectsOf(db: Statements, tallies: readonly TallyRow[]): Promise<SubjectCount[]> {
  const campaigns = await nameCampaigns(db, tallies);
  return tallies.flatMap(({ workspaceId, linkId, at, what, utm, n }) => {
    const of = (kind: SubjectCount['kind'], subject: string) => ({
      ...{ workspaceId, kind, subject, at, what, n },
    });
    return [
      of('workspace', workspaceId),
      of('link', linkId),
      ...(utm === null ? [] : campaigns(workspaceId, utm).map(({ kind, id }) => of(kind, id))),
    ];
  });
}

/** Gives each campaign and source its name, and says which ones a count is of. */
async function nameCampaigns(
  db: Statements,
  tallies: readonly TallyRow[],
): Promise<(workspaceId: string, utm: Utm) => Campaign[]> {
  const all = new Map<string, Campaign>();
  const ids = new Map<string, string>();
  const named = (workspaceId: string, kind: Campaign['kind'], utm: string[]): Campaign => {
    const name = JSON.stringify([workspaceId, kind, utm]);
    const id = ids.get(name) ?? campaignId(name);
    ids.set(name, id);
    const campaign = all.get(id) ?? { id, workspaceId, kind, utm };
    all.set(id, campaign);
    return campaign;
  };
  const both = (workspaceId: string, utm: Utm): Campaign[] => [
    named(workspaceId, 'campaign', utm),
    named(workspaceId, 'source', [utm[0]]),
  ];
  for (const { workspaceId, utm } of tallies) if (utm !== null) both(workspaceId, utm);
  if (all.size === 0) return both;
  const rows = await db.$queryRaw<{ id: string }[]>`
    SELECT id FROM campaign WHERE id = ANY (${[...all.keys()]}::uuid[])`;
  const known = new Set(rows.map(({ id }) => id));
  const added = [...all.values()].filter(({ id }) => !known.has(id));
  const left = new Map<string, number>();
  for (const workspaceId of new Set(added.map((one) => one.workspaceId))) {
    const [row] = await db.$queryRaw<{ n: number }[]>`
      SELECT count(*)::integer AS n FROM campaign WHERE workspace_id = ${workspaceId}::uuid`;
    left.set(workspaceId, MOST_CAMPAIGNS - (row?.n ?? 0));
  }
  for (const campaign of added) {
    const room = left.get(campaign.workspaceId) ?? 0;
    left.set(campaign.workspaceId, room - 1);
    if (room <= 0)
      all.set(
        campaign.id,
        named(
          campaign.workspaceId,
          campaign.kind,
          campaign.utm.map(() => OTHER),
        ),
      );
  }
  const rowsToAdd = [...all.values()].filter(({ id }) => !known.has(id));
  if (rowsToAdd.length === 0) return both;
  await db.$executeRaw`
    INSERT INTO campaign (id, workspace_id, kind, utm)
    SELECT DISTINCT ON (id) id, "workspaceId", kind, utm
    FROM jsonb_to_recordset(${JSON.stringify(rowsToAdd)}::jsonb) AS new (
      id uuid, "workspaceId" uuid, kind text, utm text[])
    ORDER BY id
    ON CONFLICT (id) DO NOTHING`;
  return both;
}

const RANKED: Counted[] = ['accepted', 'created', 'updated'];

/** A column of each: of a month of ten thousand links, a row of each would take three times as long to add up. */
const RANKED_SUMS = Prisma.join(
  RANKED.map((what) => Prisma.sql`coalesce(sum(n) FILTER (WHERE what = ${what}), 0)`),
);

async function addTo(db: Statements, counts: readonly SubjectCount[]): Promise<void> {
  const new_ = Prisma.sql`jsonb_to_recordset(${JSON.stringify(counts)}::jsonb) AS new (
    "workspaceId" uuid, kind text, subject uuid, at timestamptz, what text, n integer)`;
  await db.$executeRaw`
    WITH new AS (SELECT * FROM ${new_}), minutes AS (
      INSERT INTO series_minute
      SELECT subject, at, what, sum(n) FROM new
      WHERE kind IN ('workspace', 'link') AND at > now() - ${KEPT.series_minute}
      GROUP BY subject, at, what ORDER BY subject, at, what
      ON CONFLICT (subject, at, what) DO UPDATE SET n = series_minute.n + excluded.n
    )
    INSERT INTO series_hour
    SELECT subject, date_trunc('hour', at), what, sum(n) FROM new
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (subject, at, what) DO UPDATE SET n = series_hour.n + excluded.n`;
  await db.$executeRaw`
    WITH new AS (
      SELECT new.*, (at AT TIME ZONE coalesce(w.time_zone, 'UTC'))::date AS day
      FROM ${new_} LEFT JOIN workspace w ON w.id = new."workspaceId"
    ), ranks AS (
      INSERT INTO series_ranking
        (workspace_id, kind, span, at, subject, accepted, created, updated)
      SELECT "workspaceId", kind, span,
        CASE span WHEN 'day' THEN day ELSE date_trunc('month', day)::date END AS at,
        subject, ${RANKED_SUMS}
      FROM new CROSS JOIN (VALUES ('day'), ('month')) AS spans (span)
      WHERE kind <> 'workspace' AND what = ANY (${RANKED})
      GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
      ON CONFLICT (workspace_id, kind, span, at, subject) DO UPDATE SET
        accepted = series_ranking.accepted + excluded.accepted,
        created = series_ranking.created + excluded.created,
        updated = series_ranking.updated + excluded.updated
    )
    INSERT INTO series_day
    SELECT subject, day, what, sum(n) FROM new
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (subject, at, what) DO UPDATE SET n = series_day.n + excluded.n`;
}

/** Lets go what is older than its grain is kept. Returns how many rows went. */
export async function dropOldSeries({ prisma }: Store): Promise<number> {
  let rows = 0;
  for (const [table, kept] of Object.entries(KEPT))
    rows += await prisma.$executeRaw`
      DELETE FROM ${Prisma.raw(table)} WHERE at < now() - ${kept}`;
  rows += await prisma.$executeRaw`
    DELETE FROM series_ranking
    WHERE span = 'day' AND at < now() - (${RANKED_DAYS + 2}::integer * interval '1 day')`;
  return rows;
}

/** What a series is of: the links of a workspace together, or one link, campaign or source of campaigns. */
interface SeriesRow {
  /** ISO 8601: the begin of a minute or hour in UTC, or a day of the workspace's zone. */
  at: string;
  accepted: number;
  created: number;
  updated: number;
  repeated: number;
  held: number;
  erased: number;
  spooled: number;
  /** Newer versions of leads that endpoints took. */
  delivered: number;
  /** By the code that was answered. */
  refused: Record<string, number>;
  /** Stored ones by the time since their click: less than 1m, 5m, 30m, 3h, 1d, or more. */
  speed: Record<string, number>;
}

const GRAINS = {
  minute: Prisma.raw('series_minute'),
  hour: Prisma.raw('series_hour'),
  day: Prisma.raw('series_day'),
};
type Grain = keyof typeof GRAINS;

interface CountRow {
  at: string;
  counts: Record<string, number>;
}

/**
 * The counts of a subject from a time to another (not counted in), by time, without times that have none.
 * By primary key: what other subjects have costs nothing. For days the two are dates.
 */
export async function readSeries(
  store: Store,
  { subject, grain, from, to }: { subject: string; grain: Grain; from: string; to: string },
): Promise<SeriesRow[]> {
  const type = Prisma.raw(grain === 'day' ? 'date' : 'timestamptz');
  // One text: thousands of rows cost the driver more than they cost Postgres.
  const [row] = await store.prisma.$queryRaw<{ rows: CountRow[] | null }[]>`
    SELECT json_agg(json_build_object('at', at, 'counts', counts) ORDER BY at) AS rows FROM (
      SELECT at, json_object_agg(what, n) AS counts FROM ${GRAINS[grain]}
      WHERE subject = ${subject}::uuid AND at >= ${from}::${type} AND at < ${to}::${type}
      GROUP BY at
    ) AS times`;
  return (row?.rows ?? []).map(({ at, counts }) => ({
    at: grain === 'day' ? at : new Date(at).toISOString(),
    ...readCounts(counts),
  }));
}

function readCounts(counts: Record<string, number>): Omit<SeriesRow, 'at'> {
  const of = (what: Counted) => counts[what] ?? 0;
  const under = (prefix: string) =>
    Object.fromEntries(
      Object.entries(counts).flatMap(([what, n]) =>
        what.startsWith(prefix) ? [[what.slice(prefix.length), n]] : [],
      ),
    );
  return {
    ...{ accepted: of('accepted'), created: of('created'), updated: of('updated') },
    ...{ repeated: of('repeated'), held: of('held'), erased: of('erased'), spooled: of('spooled') },
    ...{ delivered: of('delivered'), refused: under('refused:'), speed: under('speed:') },
  };
}

/** Posts of a link of which nothing was recognised, by days of the workspace's time zone. */
export interface Unrecognised {
  today: number;
  /** Of today and the six days before. */
  week: number;
}

/** Those of links that had any in a week, by link; of all links, if none are named. By primary key, if some are. */
export async function unrecognisedPosts(
  { prisma }: Store,
  linkIds?: readonly string[],
): Promise<Map<string, Unrecognised>> {
  const named =
    linkIds === undefined ? Prisma.sql`true` : Prisma.sql`k.id = ANY (${linkIds}::uuid[])`;
  const rows = await prisma.$queryRaw<(Unrecognised & { linkId: string })[]>`
    SELECT k.id AS "linkId", coalesce(sum(s.n) FILTER (WHERE s.at >= day.today), 0)::integer AS today,
           sum(s.n)::integer AS week
    FROM capture_link k JOIN workspace w ON w.id = k.workspace_id
    CROSS JOIN LATERAL (SELECT (now() AT TIME ZONE coalesce(w.time_zone, 'UTC'))::date AS today) AS day
    JOIN series_day s ON s.subject = k.id AND s.at > day.today - 7 AND s.what = 'unrecognised'
    WHERE ${named}
    GROUP BY k.id HAVING sum(s.n) > 0`;
  return new Map(rows.map(({ linkId, ...counts }) => [linkId, counts]));
}

/** What was posted to a link of late, accepted or refused. */
interface LinkActivity {
  linkId: string;
  /** Of the last 14 days, today the last, by the time zone of the workspace. */
  days: number[];
  /** Of the last seven days. */
  posts: number;
  refused: number;
  /** Of the last post: to the minute of the last two days, to the hour before. Null: none in two years. */
  lastAt: Date | null;
}

const POSTED = Prisma.sql`(what = 'accepted' OR what LIKE 'refused:%')`;

/** What was posted to each link of a workspace of late. */
export async function linkActivity(
  { prisma }: Store,
  workspaceId: string,
): Promise<LinkActivity[]> {
  const sum = (of: Prisma.Sql) => Prisma.sql`(
    SELECT coalesce(sum(n), 0)::integer FROM series_day
    WHERE subject = k.id AND at > w.today - 7 AND ${of})`;
  return prisma.$queryRaw<LinkActivity[]>`
    WITH w AS (
      SELECT id, (now() AT TIME ZONE coalesce(time_zone, 'UTC'))::date AS today
      FROM workspace WHERE id = ${workspaceId}::uuid)
    SELECT k.id AS "linkId",
      (SELECT array_agg(coalesce(n, 0) ORDER BY day) FROM (
        SELECT day, (SELECT sum(n)::integer FROM series_day
          WHERE subject = k.id AND at = day::date AND ${POSTED}) AS n
        FROM generate_series(w.today - 13, w.today, interval '1 day') AS day) AS counted) AS days,
      ${sum(POSTED)} AS posts, ${sum(Prisma.sql`what LIKE 'refused:%'`)} AS refused,
      coalesce(
        (SELECT max(at) FROM series_minute WHERE subject = k.id AND ${POSTED}),
        (SELECT max(at) FROM series_hour WHERE subject = k.id AND ${POSTED})) AS "lastAt"
    FROM capture_link k JOIN w ON w.id = k.workspace_id`;
}

/** What came into the queue and what came out of it, in a minute, of all workspaces. */
interface FlowRow {
  /** ISO 8601: the begin of the minute in UTC. */
  at: string;
  accepted: number;
  /** Stored, held, or dropped as its person was erased. */
  finished: number;
}

/** The flow through the queue since a moment, by minute, without minutes that had none. */
export async function readFlow({ prisma }: Store, since: Date): Promise<FlowRow[]> {
  const rows = await prisma.$queryRaw<(Omit<FlowRow, 'at'> & { at: Date })[]>`
    SELECT at, coalesce(sum(n) FILTER (WHERE what = 'accepted'), 0)::integer AS accepted,
      coalesce(sum(n) FILTER (WHERE what <> 'accepted'), 0)::integer AS finished
    FROM series_minute
    WHERE subject IN (SELECT id FROM workspace) AND at >= ${since}
      AND what IN ('accepted', 'created', 'updated', 'held', 'erased')
    GROUP BY at ORDER BY at`;
  return rows.map(({ at, ...counts }) => ({ at: at.toISOString(), ...counts }));
}

/** The workspace of a campaign or source; null if there is none of this id. */
export async function workspaceOfCampaign(store: Store, id: string): Promise<string | null> {
  const row = await store.prisma.campaign.findUnique({ where: { id } });
  return row?.workspaceId ?? null;
}

/** A subject among the others of its kind. */
interface RankRow {
  id: string;
  /** Of a link its label, of a campaign source, medium and campaign, of a source itself. */
  name: string[];
  accepted: number;
  created: number;
  updated: number;
}

/** Of a comparison: the first ones are what people look at. */
const MOST_RANKED = 200;

/** Days are compared for so long; then months are. */
export const RANKED_DAYS = 60;

/** Dates, both counted in. */
interface Days {
  from: string;
  to: string;
}

/** What is added up, or taken away. Of a month `from` and `to` are the first day. */
export interface Part extends Days {
  span: 'day' | 'month';
  sign: 1 | -1;
}

/**
 * What adds up to the counts of some of the last `RANKED_DAYS` by the fewest rows a subject: of each month its
 * days, or the month without its other days. `today`: later days have no counts.
 */
export function partsOf({ from, to, today }: Days & { today: string }): Part[] {
  const parts: Part[] = [];
  const [oldest, last] = [dayAfter(today, -RANKED_DAYS), earlier(to, today)];
  for (let month = monthOf(from); month.from <= last; month = monthOf(dayAfter(month.to, 1))) {
    const own = { from: later(from, month.from), to: earlier(last, month.to) };
    const others = [
      { from: month.from, to: dayAfter(own.from, -1) },
      { from: dayAfter(own.to, 1), to: earlier(month.to, today) },
    ].filter((days) => lengthOf([days]) > 0);
    const isWhole = others.length === 0;
    if (isWhole || (month.from >= oldest && lengthOf(others) + 1 < lengthOf([own]))) {
      parts.push({ span: 'month', from: month.from, to: month.from, sign: 1 });
      for (const days of others) parts.push({ span: 'day', ...days, sign: -1 });
    } else parts.push({ span: 'day', ...own, sign: 1 });
  }
  return parts;
}

const DAY_MS = 86_400_000;

/** The day so many days after another. */
export const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);

const earlier = (a: string, b: string): string => (a < b ? a : b);
const later = (a: string, b: string): string => (a > b ? a : b);

const lengthOf = (ranges: readonly Days[]): number =>
  ranges.reduce((sum, { from, to }) => sum + (Date.parse(to) - Date.parse(from)) / DAY_MS + 1, 0);

function monthOf(day: string): Days {
  const from = `${day.slice(0, 7)}-01`;
  return { from, to: dayAfter(`${dayAfter(from, 31).slice(0, 7)}-01`, -1) };
}

/** Compares the subjects of a workspace by what some days or months add up to: most leads first. */
export async function rankSubjects(
  store: Store,
  {
    workspaceId,
    kind,
    parts,
  }: { workspaceId: string; kind: 'link' | 'campaign' | 'source'; parts: readonly Part[] },
): Promise<RankRow[]> {
  if (parts.length === 0) return [];
  const counts = parts.map(({ span, from, to, sign }) => {
    const columns = ['accepted', 'created', 'updated'].map((name) =>
      Prisma.raw(sign === 1 ? name : `-${name} AS ${name}`),
    );
    return Prisma.sql`
      SELECT subject, ${Prisma.join(columns)} FROM series_ranking
      WHERE workspace_id = ${workspaceId}::uuid AND kind = ${kind} AND span = ${span}
        AND at BETWEEN ${from}::date AND ${to}::date`;
  });
  return store.prisma.$queryRaw<RankRow[]>`
    WITH sums AS (
      SELECT subject, sum(accepted)::integer AS accepted, sum(created)::integer AS created,
        sum(updated)::integer AS updated
      FROM (${Prisma.join(counts, ' UNION ALL ')}) AS counts
      GROUP BY subject HAVING sum(accepted) + sum(created) + sum(updated) > 0
      ORDER BY greatest(sum(accepted), sum(created) + sum(updated)) DESC, subject
      LIMIT ${MOST_RANKED}
    )
    SELECT subject AS id, coalesce(c.utm, array_remove(ARRAY[k.label], NULL)) AS name, accepted, created, updated
    FROM sums LEFT JOIN campaign c ON c.id = subject LEFT JOIN capture_link k ON k.id = subject
    ORDER BY greatest(accepted, created + updated) DESC, subject`;
}
