import type { Lead, Note, NoteCode, Submission } from '@leadgate/contract';
import { jsonPointer, type LeadState } from '@leadgate/leads';
import { Prisma } from './generated/client.ts';
import { displayText } from './text.ts';

/**
 * What is counted of a link. `accepted`: put in the queue. `created`, `updated`: stored, of a new or a
 * known lead. `repeated`: it was stored already. `erased`: dropped, as its lead was erased. `refused:…`:
 * by the code it was answered with. `imported`: of those stored or dropped, rows of a file. `speed:…`: stored, by how long after its click it came.
 * `unrecognised`: stored posts of which nothing was recognised.
 * `shape:…`: stored posts, by which fields they had, a line each.
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
  | `refused:${string}`
  | `speed:${Speed}`
  | `${typeof SHAPE}${string}`;

export const SHAPE = 'shape:';

/** The time from click to lead is less than this. */
export const SPEEDS = { '1m': 60, '5m': 300, '30m': 1_800, '3h': 10_800, '1d': 86_400 } as const;
export type Speed = keyof typeof SPEEDS | 'more';

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
  const ms = Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
  return minuteOf(ms < now + DAY_MS ? ms : now);
}
const DAY_MS = 86_400_000;

/** When a submission counts: a post when it came, an imported row when it is counted. */
const minuteOfSubmission = ({ id, source }: Submission): number =>
  source === 'import' ? minuteOf(Date.now()) : minuteOfId(id);

/** One of a submission. */
export function tallyOf(submission: Submission, what: Counted, utm: Utm | null = null): Tally {
  const { workspaceId, linkId } = submission;
  return { workspaceId, linkId, at: minuteOfSubmission(submission), what, utm, n: 1 };
}

/** Those of a submission that was stored. */
export function talliesOfStored(
  submission: Submission,
  what: 'created' | 'updated' | 'erased',
  lead: LeadState | undefined,
  notes: readonly Note[],
): Tally[] {
  const utm = what === 'erased' ? null : utmOf(lead);
  const speed = what === 'erased' ? null : speedOf(submission);
  return [
    tallyOf(submission, what, utm),
    ...(submission.source === 'import' ? [tallyOf(submission, 'imported')] : []),
    ...(what !== 'erased' && isUnrecognised(notes) ? [tallyOf(submission, 'unrecognised')] : []),
    ...(speed === null ? [] : [tallyOf(submission, `speed:${speed}`, utm)]),
    ...(what !== 'erased' && submission.source === 'post'
      ? [tallyOf(submission, `${SHAPE}${fieldsOf(submission.lead, notes)}`)]
      : []),
  ];
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

function speedOf({ lead, stamp }: Submission): Speed | null {
  const clickedAt = Date.parse(lead.attribution?.clickedAt ?? '');
  const seconds = (stamp / 1_000 - clickedAt) / 1_000;
  if (!(seconds >= 0)) return null;
  const found = Object.entries(SPEEDS).find(([, limit]) => seconds < limit);
  return found === undefined ? 'more' : (found[0] as Speed);
}

function utmOf(lead: LeadState | undefined): Utm {
  const { utmSource, utmMedium, utmCampaign } = lead?.lastTouch?.values ?? {};
  return [utmSource ?? '', utmMedium ?? '', utmCampaign ?? ''];
}

const CAMPAIGN_CHARACTERS = 100;

/** Whoever builds an address or a form may write a person in it: what looks like one is not kept in counts. */
export function campaignText(text: string | undefined): string {
  return displayText((text ?? '').slice(0, 4 * CAMPAIGN_CHARACTERS))
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, '')
    .replace(/[^\s@]{1,100}@[^\s@]{1,100}/g, '…')
    .replace(/\d(?:[\s().-]{0,2}\d){7,}/g, '…')
    .trim()
    .slice(0, CAMPAIGN_CHARACTERS);
}

/** Those that differ in nothing but their number, as one. */
function addUp(tallies: readonly Tally[]): Tally[] {
  const sums = new Map<string, Tally>();
  for (const tally of tallies) {
    const { linkId, at, what, utm, n } = tally;
    // A link is of one workspace. With each lead: a JSON of it would cost several times as much.
    const key = `${linkId} ${at} ${what}\0${utm === null ? '' : utm.join('\0')}`;
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { ...tally });
    else sum.n += n;
  }
  return [...sums.values()];
}

/** The INSERT of tallies, to stand in a WITH of the statement that stores what they count. */
export function insertOfTallies(tallies: readonly Tally[]): Prisma.Sql {
  // Campaigns and fields are few beside submissions: their texts are made fit once they are added up.
  const rows = addUp(tallies).map(({ at, what, utm, ...row }) => ({
    ...row,
    at: new Date(at),
    what: what.startsWith(SHAPE) ? what.split('\n').map(campaignText).join('\n') : what,
    utm: utm && [campaignText(utm[0]), campaignText(utm[1]), campaignText(utm[2])],
  }));
  return Prisma.sql`
    INSERT INTO tally (workspace_id, link_id, at, what, utm, n)
    SELECT "workspaceId", "linkId", at, what, utm, n
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) AS new (
      "workspaceId" uuid, "linkId" uuid, at timestamptz, what text, utm text[], n integer)`;
}
