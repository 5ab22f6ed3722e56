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
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { type Statements, displayText } from './statements.ts';

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
const DAY_MS = 86_400_000;

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
