import type { Lead, Note, NoteCode, Submission } from '@leadgate/contract';
import {
  cutText,
  type Drift,
  driftOf,
  jsonPointer,
  type LeadState,
  type LinkShape,
  seeShape,
} from '@leadgate/leads';
import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { firstIdAt } from './retention.ts';
import { displayText, type Statements } from './statements.ts';

/**
 * What is counted of a link. `accepted`: put in the queue. `created`, `updated`: stored, of a new or a
 * known lead. `repeated`: it was stored already. `erased`: dropped, as its lead was erased. `refused:…`:
 * by the code it was answered with. `imported`: of those stored or dropped, rows of a file. `speed:…`: stored, by how long after its click it came.
 * `unrecognised`: stored posts of which nothing was recognised.
 * `shape:…`: stored posts, by which fields they had, a line each. `delivered`: newer versions of leads that
 * endpoints took, whose change came by it.
 */
export type Counted =
  | 'accepted'
  | 'resent'
  | 'created'
  | 'updated'
  | 'repeated'
  | 'held'
  | 'erased'
  | 'imported'
  | 'spooled'
  | 'unrecognised'
  | 'delivered'
  | `refused:${string}`
  | `speed:${Speed}`
  | `${typeof SHAPE}${string}`;

export const SHAPE = 'shape:';

/** The time from click to lead is less than this. */
const SPEEDS = { '1m': 60, '5m': 300, '30m': 1_800, '3h': 10_800, '1d': 86_400 } as const;
type Speed = keyof typeof SPEEDS | 'more';

/** utmSource, utmMedium and utmCampaign of a lead's last touch; empty if it has none. */
export type Utm = [source: string, medium: string, campaign: string];

export interface Tally {
  workspaceId: string;
  linkId: string;
  /** Milliseconds since 1970, of the minute's begin. */
  at: number;
  what: Counted;
  /** Null: it is not counted by campaign. */
  utm: Utm | null;
  n: number;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export const minuteOf = (ms: number): number => ms - (ms % MINUTE_MS);

/**
 * The minute that a post came in: of its id (UUIDv7), so that a row and its count agree. One that is a
 * day ahead names no time: it counts now.
 */
export function minuteOfId(id: string, now = Date.now()): number {
  return minuteOfTime(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16), now);
}

/** The same of the time that an id names. */
export function minuteOfTime(ms: number, now = Date.now()): number {
  return minuteOf(ms < now + DAY_MS ? ms : now);
}

/** When a submission counts: a post when it came, an imported row when it is counted. */
const minuteOfSubmission = ({ id, source }: Submission): number =>
  source === 'import' ? minuteOf(Date.now()) : minuteOfId(id);

/** One of a submission. */
export function tallyOf(submission: Submission, what: Counted): Tally {
  const { workspaceId, linkId } = submission;
  return { workspaceId, linkId, at: minuteOfSubmission(submission), what, utm: null, n: 1 };
}

/** What is counted of a link in a minute, by what it is and then by what parts it: found without a text of all. */
class Branch extends Map<string, Branch> {
  row: Tally | null = null;

  to(next: string): Branch {
    const known = this.get(next);
    if (known !== undefined) return known;
    const made = new Branch();
    this.set(next, made);
    return made;
  }
}

interface Place {
  of: Pick<Tally, 'workspaceId' | 'linkId' | 'at'>;
  root: Branch;
  rows: Tally[];
}

/**
 * What is counted of submissions: those that differ in nothing but their number are one. Every submission
 * passes here: most are of the same link and minute as the one before, and have the same fields.
 */
export class Tallies {
  /** By link and minute. */
  readonly #places = new Map<string, Place>();
  #place: Place | null = null;

  /** Counts one that is no campaign's. */
  add(submission: Submission, what: Counted): void {
    countIn(this.#placeOf(submission), what);
  }

  /** Counts one that was stored, in each way. */
  addStored(
    submission: Submission,
    what: 'created' | 'updated' | 'erased',
    lead: LeadState | undefined,
    notes: readonly Note[],
  ): void {
    const place = this.#placeOf(submission);
    const { source } = submission;
    if (source === 'import') countIn(place, 'imported');
    if (what === 'erased') return countIn(place, what);
    countUtm(place, what, lead);
    const speed = speedOf(submission);
    if (speed !== null) countUtm(place, `speed:${speed}`, lead);
    if (notes.length > 0 && isUnrecognised(notes)) countIn(place, 'unrecognised');
    if (source !== 'post') return;
    const shape = shapeOf(place.root.to(SHAPE), submission.lead, notes);
    // Its text is made once.
    if (shape.row !== null) shape.row.n += 1;
    else begin(place, shape, `${SHAPE}${fieldsOf(submission.lead, notes)}`, null);
  }

  rows(): Tally[] {
    return [...this.#places.values()].flatMap(({ rows }) => rows);
  }

  #placeOf(submission: Submission): Place {
    const { workspaceId, linkId } = submission;
    const at = minuteOfSubmission(submission);
    if (this.#place?.of.linkId === linkId && this.#place.of.at === at) return this.#place;
    const key = `${linkId} ${at}`;
    const place = this.#places.get(key) ?? {
      ...{ of: { workspaceId, linkId, at }, root: new Branch(), rows: [] },
    };
    this.#places.set(key, place);
    this.#place = place;
    return place;
  }
}

function countIn(place: Place, what: Counted): void {
  const branch = place.root.to(what);
  if (branch.row !== null) branch.row.n += 1;
  else begin(place, branch, what, null);
}

/** By the campaign of a lead's last touch. */
function countUtm(place: Place, what: Counted, lead: LeadState | undefined): void {
  const { utmSource = '', utmMedium = '', utmCampaign = '' } = lead?.lastTouch?.values ?? {};
  const branch = place.root.to(what).to(utmSource).to(utmMedium).to(utmCampaign);
  if (branch.row !== null) branch.row.n += 1;
  else begin(place, branch, what, [utmSource, utmMedium, utmCampaign]);
}

function begin({ of, rows }: Place, branch: Branch, what: Counted, utm: Utm | null): void {
  const { workspaceId, linkId, at } = of;
  branch.row = { workspaceId, linkId, at, what, utm, n: 1 };
  rows.push(branch.row);
}

/** Whether nothing of a post was recognised. */
export const isUnrecognised = (notes: readonly Note[]): boolean =>
  notes.some(({ code }) => code === 'nothing-recognised');

const UNKNOWN_CODES: ReadonlySet<NoteCode> = new Set(['unknown-key', 'unknown-custom-field']);
/** Of a longer body the first fields are enough to tell that it changed. */
const MOST_FIELDS = 60;

/** Which fields a post had, a line each: keys of the lead, and after a question mark what is none. */
function fieldsOf({ customFields, otherKeys, ...lead }: Lead, notes: readonly Note[]): string {
  if (customFields === undefined && otherKeys === undefined && notes.length === 0)
    return Object.keys(lead).slice(0, MOST_FIELDS).join('\n');
  const unknown = notes.flatMap(({ code, field }) => (UNKNOWN_CODES.has(code) ? [field] : []));
  const custom = [
    ...Object.keys(customFields ?? {}).map((key) => jsonPointer('customFields', key)),
    ...Object.keys(otherKeys ?? {}).map((key) => jsonPointer(key)),
  ].filter((field) => !unknown.includes(field));
  return [...Object.keys(lead), ...custom, ...unknown.map((field) => `?${field}`)]
    .slice(0, MOST_FIELDS)
    .join('\n');
}

/** Parts keys: none has it, as Postgres holds none. */
const NUL = '\0';

/** Where posts with the same fields are counted. */
function shapeOf(root: Branch, lead: Lead, notes: readonly Note[]): Branch {
  let branch = root;
  for (const field in lead) branch = branch.to(field);
  const { customFields = {}, otherKeys = {} } = lead;
  for (const key in customFields) branch = branch.to(key);
  branch = branch.to(NUL);
  for (const key in otherKeys) branch = branch.to(key);
  branch = branch.to(NUL);
  for (const { code, field } of notes) if (UNKNOWN_CODES.has(code)) branch = branch.to(field);
  return branch;
}

function speedOf({ lead, stamp }: Submission): Speed | null {
  const clickedAt = lead.attribution?.clickedAt;
  if (clickedAt === undefined) return null;
  const seconds = (stamp / 1_000 - Date.parse(clickedAt)) / 1_000;
  if (!(seconds >= 0)) return null;
  const found = Object.entries(SPEEDS).find(([, limit]) => seconds < limit);
  return found === undefined ? 'more' : (found[0] as Speed);
}

const CAMPAIGN_CHARACTERS = 100;

/** Whoever builds an address or a form may write a person in it: what looks like one is not kept in counts. */
export function campaignText(text: string | undefined): string {
  const clean = displayText((text ?? '').slice(0, 4 * CAMPAIGN_CHARACTERS))
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
    .replace(/[^\s@]{1,100}@[^\s@]{1,100}/g, '…')
    .replace(/\d(?:[\s().-]{0,2}\d){7,}/g, '…')
    .trim();
  return cutText(clean, CAMPAIGN_CHARACTERS);
}

/** The same few texts come with every group. */
const MOST_FIT = 2_000;
const fit = new Map<string, string>();

function fitText(text: string): string {
  const known = fit.get(text);
  if (known !== undefined) return known;
  if (fit.size === MOST_FIT) fit.clear();
  const made = campaignText(text);
  fit.set(text, made);
  return made;
}

/** As `tally_group` holds them: of each link and minute what was counted, of which campaign if of one, and how often. */
type Counts = [linkId: string, at: number, counts: [what: string, n: number, ...utm: string[]][]][];

/** The INSERT of tallies, a row for each workspace, to stand in a WITH of the statement that stores what they count. */
export function insertOfTallies(tallies: readonly Tally[]): Prisma.Sql {
  const rows = new Map<string, Counts>();
  for (const { workspaceId, linkId, at, what, utm, n } of tallies) {
    const counts = rows.get(workspaceId) ?? [];
    rows.set(workspaceId, counts);
    let last = counts.at(-1);
    if (last?.[0] !== linkId || last[1] !== at) counts.push((last = [linkId, at, []]));
    const text = what.startsWith(SHAPE) ? what.split('\n').map(fitText).join('\n') : what;
    last[2].push(utm === null ? [text, n] : [text, n, ...utm.map(fitText)]);
  }
  return Prisma.sql`
    INSERT INTO tally_group (workspace_id, counts)
    SELECT workspace_id::uuid, counts
    FROM json_each(${JSON.stringify(Object.fromEntries(rows))}::json) AS new (workspace_id, counts)`;
}

/** The rows of `tally` that rows of `tally_group`, as `groups`, stand for. */
export const talliesOfGroups = (groups: Prisma.Sql): Prisma.Sql => Prisma.sql`
  SELECT id, workspace_id, (place ->> 0)::uuid AS link_id,
    to_timestamp((place ->> 1)::float8 / 1000) AS at, one ->> 0 AS what,
    CASE WHEN jsonb_array_length(one) > 2 THEN ARRAY[one ->> 2, one ->> 3, one ->> 4] END AS utm,
    (one ->> 1)::integer AS n
  FROM ${groups} AS groups, jsonb_array_elements(counts::jsonb) AS place,
    jsonb_array_elements(place -> 2) AS one`;

interface ShapeRow {
  linkId: string;
  shape: LinkShape;
}

/** Adds stored posts, by the fields they had, to what is usual of their links: in the order given. */
export async function seeShapes(
  db: Statements,
  posts: readonly { workspaceId: string; linkId: string; what: string; n: number }[],
): Promise<void> {
  if (posts.length === 0) return;
  const ids = [...new Set(posts.map(({ linkId }) => linkId))];
  const [{ now }] = await db.$queryRaw<[{ now: Date }]>`SELECT now()`;
  const rows = await db.$queryRaw<ShapeRow[]>`
    SELECT link_id AS "linkId", shape FROM link_shape WHERE link_id = ANY (${ids}::uuid[])
    ORDER BY link_id FOR UPDATE`;
  const shapes = new Map(rows.map(({ linkId, shape }) => [linkId, shape]));
  for (const { linkId, what, n } of posts) {
    const fields = what.slice(SHAPE.length).split('\n');
    const before = shapes.get(linkId) ?? null;
    shapes.set(linkId, seeShape(before, { fields, posts: n, at: now.getTime() }));
  }
  const seen = [...shapes].map(([linkId, shape]) => {
    return { linkId, shape, drifted: driftOf(shape) !== null };
  });
  await db.$executeRaw`
    INSERT INTO link_shape (link_id, shape, drifted)
    SELECT "linkId", shape, drifted
    FROM jsonb_to_recordset(${JSON.stringify(seen)}::jsonb) AS new (
      "linkId" uuid, shape jsonb, drifted boolean)
    ORDER BY 1
    ON CONFLICT (link_id) DO UPDATE SET shape = excluded.shape, drifted = excluded.drifted`;
}

/** Links whose new posts lack what nearly all had, or nearly all have what is no field. */
export async function driftedLinks(store: Store): Promise<({ linkId: string } & Drift)[]> {
  const rows = await store.prisma.$queryRaw<ShapeRow[]>`
    SELECT link_id AS "linkId", shape FROM link_shape WHERE drifted ORDER BY link_id`;
  return rows.flatMap(({ linkId, shape }) => {
    const drift = driftOf(shape);
    return drift === null ? [] : [{ linkId, ...drift }];
  });
}

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
