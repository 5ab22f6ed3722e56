import type {
  CustomField,
  CustomValue,
  FieldPath,
  Lead,
  LeadEventType,
  Note,
  SubmissionSource,
  Touch,
} from '@leadgate/contract';
import type { TouchOfSubmission } from '@leadgate/leads';
import { type ConsentRecord, consentsOfLead } from './consents.ts';
import type { DeliveryTry } from './deliveries.ts';
import { fieldsOfWorkspaces } from './fields.ts';
import {
  addTouch,
  type LeadRow,
  type LeadSummary,
  listedColumns,
  type ListedLeadRow,
  OWN_OF_ASKED,
  ownIds,
  readLeadSummary,
  readProvenance,
} from './leads.ts';
import type { Store } from './open-store.ts';
import { isoTime, isUuid } from './statements.ts';

/** What set a value: the submission, and the time its facts are from. */
interface ValueSource {
  submissionId: string;
  /** ISO 8601, UTC. */
  at: string;
}

/** Where a lead came from, by which submission. */
export type SourcedTouch = Touch & ValueSource;

/** A lead that one submission named together with this one. */
interface PossibleDuplicate {
  leadId: string;
  name: string | null;
  email: string | null;
  telephone: string | null;
  /** When the pair was first seen: ISO 8601, UTC. */
  since: string;
}

/** All that is known of a lead. Fields are named as in a posted body. */
export interface LeadDetails extends LeadSummary {
  /** `email:…` and `phone:…` keys that are this lead. */
  identities: { kind: 'email' | 'phone' | 'external'; value: string; since: string }[];
  /** Other ids that stand for this lead. */
  aliases: string[];
  /** By field path (`email`, `address.city`). */
  provenance: Partial<Record<FieldPath, ValueSource>>;
  firstTouch: SourcedTouch | null;
  lastTouch: SourcedTouch | null;
  /** The submission that created the lead; custom fields are its. */
  createdBy: string | null;
  /** The lead's custom fields with their definitions, in the workspace's order. */
  customFieldDetails: (Pick<CustomField, 'id' | 'name' | 'label' | 'type' | 'archived'> & {
    value: CustomValue;
  })[];
  possibleDuplicates: PossibleDuplicate[];
  /** Every consent, granted, refused or withdrawn, newest first. None is ever changed. */
  consents: ConsentRecord[];
  /** Submissions, newest first, at most as many as asked for. */
  history: HistoryEntry[];
  /** How many submissions there are in all. */
  submissions: number;
  erasure: LeadErasure | null;
}

/** The lead of any id ever answered, aliases followed. Null if no lead has the id. */
export async function showLead(
  store: Store,
  leadId: string,
  options: { historyLimit: number },
): Promise<LeadDetails | null> {
  const [row] = await store.prisma.$queryRaw<ListedLeadRow[]>`
    SELECT ${listedColumns}
    FROM workspace w
    JOIN lead asked ON asked.workspace_id = w.id AND asked.id = ${leadId}::uuid
    JOIN lead ON lead.workspace_id = w.id AND lead.id = coalesce(asked.merged_into, asked.id)`;
  if (row === undefined) return null;
  const [fields, identities, aliases, possibleDuplicates, consents, history, erasure] =
    await Promise.all([
      fieldsOfWorkspaces(store.prisma, [row.workspaceId]),
      identitiesOf(store, row),
      aliasesOf(store, row),
      possibleDuplicatesOf(store, row),
      consentsOfLead(store, row),
      historyOfLead(store, row, options.historyLimit),
      row.erasedOrder !== null ? erasureOf(store, leadId) : null,
    ]);
  return {
    ...readLeadSummary(row, fields),
    identities,
    aliases,
    provenance: sourcesOf(row.provenance),
    firstTouch: readTouch(row.firstTouch),
    lastTouch: readTouch(row.lastTouch),
    createdBy: row.creatorId,
    customFieldDetails: fields.flatMap(({ id, name, label, type, archived }) => {
      const value = row.customFields[id];
      return value === undefined ? [] : [{ id, name, label, type, archived, value }];
    }),
    possibleDuplicates,
    consents,
    history: history.entries,
    submissions: history.total,
    erasure,
  };
}

/** What was erased, when, why and by whom, the last time. */
export interface LeadErasure {
  leadId: string;
  /** ISO 8601, UTC. */
  at: string;
  reason: string;
  by: string;
}

/** Of the lead of any id ever answered, if it was erased; else null. */
export async function erasureOf({ prisma }: Store, leadId: string): Promise<LeadErasure | null> {
  if (!isUuid(leadId)) return null;
  const [row] = await prisma.$queryRaw<(Omit<LeadErasure, 'at'> & { at: Date })[]>`
    SELECT l.id AS "leadId", coalesce(e.erased_at, l.updated_at) AS at,
           coalesce(e.reason, '') AS reason, coalesce(e.erased_by, '') AS by
    FROM workspace w
    JOIN lead asked ON asked.workspace_id = w.id AND asked.id = ${leadId}::uuid
    JOIN lead l ON l.workspace_id = w.id
      AND l.id = coalesce(asked.merged_into, asked.id) AND l.erased_order IS NOT NULL
    LEFT JOIN erasure e ON e.workspace_id = l.workspace_id AND e.lead_id = l.id
    ORDER BY e.erased_order DESC NULLS LAST LIMIT 1`;
  return row === undefined ? null : { ...row, at: row.at.toISOString() };
}

async function identitiesOf(store: Store, lead: LeadRow): Promise<LeadDetails['identities']> {
  const rows = await store.prisma.$queryRaw<{ key: string; createdAt: Date }[]>`
    SELECT key, created_at AS "createdAt" FROM identity
    WHERE workspace_id = ${lead.workspaceId}::uuid AND lead_id IN (${ownIds(lead)})
    ORDER BY key`;
  return rows.map(({ key, createdAt }) => {
    const [kind, ...value] = key.split(':');
    return {
      kind: kind === 'email' || kind === 'external' ? kind : 'phone',
      value: value.join(':'),
      since: createdAt.toISOString(),
    };
  });
}

async function aliasesOf(store: Store, lead: LeadRow): Promise<string[]> {
  const rows = await store.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM lead
    WHERE workspace_id = ${lead.workspaceId}::uuid AND merged_into = ${lead.id}::uuid
    ORDER BY created_at, id`;
  return rows.map(({ id }) => id);
}

async function possibleDuplicatesOf(store: Store, lead: LeadRow): Promise<PossibleDuplicate[]> {
  type Row = Omit<PossibleDuplicate, 'since'> & { since: Date };
  const rows = await store.prisma.$queryRaw<Row[]>`
    WITH own AS (${ownIds(lead)}), pair AS (
      SELECT lead_b AS id, created_at FROM possible_duplicate
      WHERE workspace_id = ${lead.workspaceId}::uuid AND lead_a IN (SELECT id FROM own)
      UNION ALL
      SELECT lead_a, created_at FROM possible_duplicate
      WHERE workspace_id = ${lead.workspaceId}::uuid AND lead_b IN (SELECT id FROM own)
    ), other AS (
      -- Either side may have been merged since, even into each other.
      SELECT coalesce(l.merged_into, pair.id) AS id, min(pair.created_at) AS since
      FROM pair LEFT JOIN lead l ON l.workspace_id = ${lead.workspaceId}::uuid AND l.id = pair.id
      GROUP BY 1
    )
    SELECT other.id AS "leadId", l.name, l.email, l.telephone, other.since
    FROM other LEFT JOIN lead l ON l.workspace_id = ${lead.workspaceId}::uuid AND l.id = other.id
    WHERE other.id <> ${lead.id}::uuid
    ORDER BY other.since, other.id`;
  return rows.map((row) => ({ ...row, since: row.since.toISOString() }));
}

function sourcesOf(provenance: LeadRow['provenance']): LeadDetails['provenance'] {
  return Object.fromEntries(
    Object.entries(readProvenance(provenance)).map(([path, { submissionId, stamp }]) => [
      path,
      { submissionId, at: isoTime(stamp) },
    ]),
  );
}

export function readTouch(touch: TouchOfSubmission | null): SourcedTouch | null {
  if (touch === null) return null;
  const { values, submissionId, stamp } = touch;
  const marks: Touch = {};
  addTouch(marks, values);
  return Object.assign(marks, { submissionId, at: isoTime(stamp) });
}

/** A submission as one step of a lead's history. */
export interface HistoryEntry {
  submissionId: string;
  /** When it was accepted: ISO 8601, UTC. */
  acceptedAt: string;
  /** The time its facts are from: ISO 8601, UTC. */
  at: string;
  source: SubmissionSource;
  linkId: string;
  linkLabel: string | null;
  page: string | null;
  /** The lead id it was reserved for, which may be an alias. */
  reservedFor: string;
  sent: Lead;
  /**
   * What of it the lead still has: field paths, `utm` for the last touch, `customFields` for the
   * submission that created the lead.
   */
  stands: string[];
  notes: Note[];
}

interface HistoryRow {
  id: string;
  order: number;
  stamp: number;
  source: SubmissionSource;
  linkId: string;
  linkLabel: string | null;
  page: string | null;
  leadId: string;
  lead: Lead;
  notes: Note[];
  total: number;
}

/** The submissions of a lead and of its aliases, newest first, and how many there are in all. */
async function historyOfLead(
  store: Store,
  lead: LeadRow,
  limit: number,
): Promise<{ entries: HistoryEntry[]; total: number }> {
  const rows = await store.prisma.$queryRaw<HistoryRow[]>`
    SELECT s.id, s."order"::float8 AS "order", s.stamp::float8 AS stamp, s.source,
           s.link_id AS "linkId", k.label AS "linkLabel", s.page, s.lead_id AS "leadId", s.lead,
           s.notes, count(*) OVER ()::float8 AS total
    FROM submission s LEFT JOIN capture_link k ON k.id = s.link_id
    WHERE s.workspace_id = ${lead.workspaceId}::uuid AND s.lead_id IN (${ownIds(lead)})
    ORDER BY s."order" DESC LIMIT ${limit}`;
  return { entries: rows.map((row) => readEntry(row, lead)), total: rows[0]?.total ?? 0 };
}

function readEntry(row: HistoryRow, lead: LeadRow): HistoryEntry {
  const paths = lead.provenance.flatMap(([submissionId, , , ...set]) =>
    submissionId === row.id ? set : [],
  );
  return {
    submissionId: row.id,
    acceptedAt: isoTime(row.order),
    at: isoTime(row.stamp),
    source: row.source,
    linkId: row.linkId,
    linkLabel: row.linkLabel,
    page: row.page,
    reservedFor: row.leadId,
    sent: row.lead,
    stands: [
      ...paths,
      ...(lead.lastTouch?.submissionId === row.id ? ['touch'] : []),
      ...(lead.creatorId === row.id && Object.keys(lead.customFields).length > 0
        ? ['customFields']
        : []),
    ],
    notes: row.notes,
  };
}

/** A message about a lead that went to an endpoint, or was tried to be sent. */
interface SentOfLead {
  endpointId: string;
  endpoint: string;
  at: Date;
  event: LeadEventType;
  outcome: DeliveryTry['outcome'];
  /** Of the answer; null: there was none, or it is no longer kept. */
  status: number | null;
}

/** What happened with a lead besides what was posted. */
interface LeadEvents {
  /** Newest first: tries as long as they are kept, of older ones the last that an endpoint took. */
  sent: SentOfLead[];
  /** What endpoints are still to be told. */
  waiting: { endpointId: string; endpoint: string; dueAt: Date; attempts: number }[];
  /** Leads that became this one, newest first. */
  merges: { leadId: string; at: Date }[];
}

/** Of the lead of any id ever answered, at most `limit` messages. Null if no lead has the id. */
export async function leadEvents(
  { prisma }: Store,
  leadId: string,
  limit: number,
): Promise<LeadEvents | null> {
  type Own = { id: string; workspaceId: string; mergedAt: Date | null };
  const own = await prisma.$queryRaw<Own[]>`
    SELECT own.id, own.workspace_id AS "workspaceId",
      -- An alias that never was a lead of its own was made as one.
      CASE WHEN own.merged_into IS NOT NULL AND own.updated_at > own.created_at
           THEN own.updated_at END AS "mergedAt"
    FROM workspace w
    JOIN lead asked ON asked.workspace_id = w.id AND asked.id = ${leadId}::uuid
    JOIN lead own ON ${OWN_OF_ASKED}
    ORDER BY own.updated_at DESC`;
  const [first] = own;
  if (first === undefined) return null;
  const ids = own.map(({ id }) => id);
  const [sent, waiting] = await Promise.all([
    prisma.$queryRaw<SentOfLead[]>`
      SELECT e.id AS "endpointId", e.name AS endpoint, t.at, t.event, t.outcome, t.status
      FROM delivery_attempt t JOIN endpoint e ON e.id = t.endpoint_id
      WHERE t.lead_id = ANY (${ids}::uuid[])
      UNION ALL
      SELECT e.id, e.name, d.delivered_at, d.event, 'delivered', NULL
      FROM endpoint e JOIN delivery d ON d.endpoint_id = e.id AND d.lead_id = ANY (${ids}::uuid[])
      WHERE e.workspace_id = ${first.workspaceId}::uuid AND d.delivered_at IS NOT NULL
        AND NOT EXISTS (
          SELECT FROM delivery_attempt t
          WHERE t.endpoint_id = e.id AND t.lead_id = d.lead_id AND t.outcome = 'delivered')
      ORDER BY at DESC LIMIT ${limit}::int`,
    prisma.$queryRaw<LeadEvents['waiting']>`
      SELECT e.id AS "endpointId", e.name AS endpoint, d.due_at AS "dueAt", d.attempts
      FROM endpoint e JOIN delivery d ON d.endpoint_id = e.id AND d.lead_id = ANY (${ids}::uuid[])
      WHERE e.workspace_id = ${first.workspaceId}::uuid AND d.due_at IS NOT NULL
      ORDER BY d.due_at, e.name`,
  ]);
  const merges = own.flatMap(({ id, mergedAt }) =>
    mergedAt === null ? [] : [{ leadId: id, at: mergedAt }],
  );
  return { sent, waiting, merges };
}
