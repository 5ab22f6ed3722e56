import {
  type BodyType,
  type Consent,
  type CustomValue,
  isExternalKey,
  type Lead,
  type Note,
  type NoteCode,
  type Submission,
  type SubmissionSource,
} from '@leadgate/contract';
import type { Route } from './apply/plan-workspace.ts';
import {
  consentOfSubmission,
  type ConsentRecord,
  type ConsentRow,
  readConsent,
  recordConsents,
} from './consents.ts';
import { Prisma } from './generated/client.ts';
import { idsOfLead, OWN_OF_ASKED } from './leads.ts';
import type { Store } from './open-store.ts';
import {
  hashedUuid,
  isoTime,
  microseconds,
  pagesOf,
  recordset,
  type Statements,
} from './statements.ts';

const newSubmissions = recordset({
  ...{ id: 'uuid', workspaceId: 'uuid', linkId: 'uuid', leadId: 'uuid', answeredLeadId: 'uuid' },
  ...{ order: 'bigint', stamp: 'bigint', source: 'text', identities: 'jsonb', lead: 'jsonb' },
  ...{ notes: 'jsonb', consent: 'jsonb', body: 'text', bodyType: 'text', page: 'text' },
  ...{ userAgent: 'text', address: 'text', requestId: 'text', mark: 'uuid' },
});

/**
 * Stores the submissions that are not there yet, with the consents that they brought, in the order of their
 * ids; `inserted`: the ids of those. One that another transaction is storing is waited for. An imported row is
 * remembered by its id, and what has an id of its sender's by that: it is not stored again, under whatever id
 * it comes, nor after retention let it go. Of a workspace that was removed nothing is stored: see
 * `removeWorkspace`.
 */
export async function insertSubmissions(
  tx: Statements,
  submissions: readonly Submission[],
  notesOf: (submission: Submission) => Note[],
): Promise<{ inserted: Set<string>; removedWorkspaces: Set<string> }> {
  const rows = submissions
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map((submission) => {
      const { id, workspaceId, linkId, leadId, answeredLeadId, order, stamp, source } = submission;
      const { identities, lead, consent, body, bodyType, page, userAgent, address, requestId } =
        submission;
      // Member by member: a spread of the submission takes ten times as long.
      return {
        id,
        workspaceId,
        linkId,
        leadId,
        answeredLeadId,
        order,
        stamp,
        source,
        identities: identities.map(({ key, owner }) => [key, owner]),
        lead,
        notes: notesOf(submission),
        consent,
        body,
        bodyType,
        page,
        userAgent,
        address,
        requestId,
        mark: markOf(
          submission,
          identities.map(({ key }) => key),
        ),
      };
    });
  const workspaceIds = [...new Set(submissions.map(({ workspaceId }) => workspaceId))];
  const found = await tx.$queryRaw<{ id: string; stored: boolean }[]>`
    WITH new AS (
      SELECT * FROM ${newSubmissions(rows)}
      WHERE "workspaceId" NOT IN (SELECT id FROM removed_workspace)
    ), remembered AS (
      INSERT INTO imported_row SELECT DISTINCT mark FROM new WHERE mark IS NOT NULL ORDER BY mark
      ON CONFLICT (id) DO NOTHING
      RETURNING id
    ), stored AS (
      INSERT INTO submission
        (id, workspace_id, link_id, lead_id, answered_lead_id, "order", stamp, source, identities,
         lead, notes, consent, body, body_type, page, user_agent, address, request_id)
      SELECT DISTINCT ON (coalesce(mark, id))
        id, "workspaceId", "linkId", "leadId", "answeredLeadId", "order", stamp, source, identities,
        lead, notes, consent, body, "bodyType", page, "userAgent", address, "requestId"
      FROM new WHERE mark IS NULL OR mark IN (SELECT id FROM remembered)
      ORDER BY coalesce(mark, id), "order"
      ON CONFLICT (id) DO NOTHING
      RETURNING id, workspace_id, lead_id, link_id, source, consent, page, user_agent, address, stamp,
                applied_at
    ), dropped AS (
      -- By its own id too: the ledger looks for it.
      INSERT INTO imported_row SELECT id FROM new
      WHERE mark <> id AND NOT EXISTS (SELECT FROM stored WHERE stored.id = new.id)
        AND NOT EXISTS (SELECT FROM submission s WHERE s.id = new.id)
      ORDER BY id
      ON CONFLICT (id) DO NOTHING
    ), recorded AS (${recordConsents(Prisma.sql`stored`)})
    SELECT id, true AS stored FROM stored UNION ALL
    SELECT id, false FROM removed_workspace WHERE id = ANY (${workspaceIds}::uuid[])`;
  const idsOf = (stored: boolean) =>
    new Set(found.flatMap((one) => (one.stored === stored ? one.id : [])));
  return { inserted: idsOf(true), removedWorkspaces: idsOf(false) };
}

/** What a submission is remembered by for good; null: by its row alone. */
function markOf({ id, source }: Submission, identityKeys: readonly string[]): string | null {
  return markOfExternal(identityKeys) ?? (source === 'import' ? id : null);
}

/** The mark by the sender's own id of it; null if it has none among its identity keys. */
export function markOfExternal(identityKeys: readonly string[]): string | null {
  const external = identityKeys.find(isExternalKey);
  return external === undefined ? null : hashedUuid(external);
}

/** Gives stored submissions the notes of their latest replay. */
export async function renewNotes(
  tx: Statements,
  routes: readonly Route[],
  notesOf: (submission: Submission) => Note[],
): Promise<void> {
  if (routes.length === 0) return;
  await tx.$executeRaw`
    UPDATE submission SET notes = new.notes
    FROM unnest(${routes.map(({ submission }) => submission.id)}::uuid[],
                ${routes.map(({ submission }) => JSON.stringify(notesOf(submission)))}::jsonb[])
      AS new (id, notes)
    WHERE submission.id = new.id`;
}

/** Stores submissions under the lead that began anew after the one they were reserved for. */
export async function redirectSubmissions(tx: Statements, routes: readonly Route[]): Promise<void> {
  if (routes.length === 0) return;
  await tx.$executeRaw`
    WITH new AS (
      SELECT * FROM unnest(${routes.map(({ submission }) => submission.id)}::uuid[],
                           ${routes.map(({ leadId }) => leadId)}::uuid[]) AS new (id, lead_id)
    ), consented AS (
      UPDATE consent SET lead_id = new.lead_id FROM new WHERE submission_id = new.id
    )
    UPDATE submission SET lead_id = new.lead_id FROM new WHERE submission.id = new.id`;
}

/**
 * Takes everything personal out of submissions that reached an erased lead, and stores them under it.
 * The bare row stays, so that a second run of the job finds it done.
 */
export async function blankSubmissions(tx: Statements, routes: readonly Route[]): Promise<void> {
  if (routes.length === 0) return;
  await tx.$executeRaw`
    WITH consented AS (
      DELETE FROM consent
      WHERE submission_id = ANY (${routes.map(({ submission }) => submission.id)}::uuid[])
    )
    UPDATE submission
    SET lead_id = new.lead_id, identities = '[]', lead = '{}', notes = '[]', consent = NULL, body = '',
        page = NULL, user_agent = NULL, address = NULL
    FROM unnest(${routes.map(({ submission }) => submission.id)}::uuid[],
                ${routes.map(({ leadId }) => leadId)}::uuid[]) AS new (id, lead_id)
    WHERE submission.id = new.id`;
}

/** What is read of a submission in a list; `submissionJoins` belongs to it. */
const submissionColumns = Prisma.sql`
  s.id AS "submissionId", s.workspace_id AS "workspaceId", s.link_id AS "linkId",
  k.label AS "linkLabel", coalesce(l.merged_into, s.lead_id) AS "leadId",
  s."order"::float8 AS "order", s.stamp::float8 AS stamp, s.source, s.lead, s.notes`;

const submissionJoins = Prisma.sql`
  LEFT JOIN capture_link k ON k.id = s.link_id
  LEFT JOIN lead l ON l.workspace_id = s.workspace_id AND l.id = s.lead_id`;

export interface SubmissionSummary {
  submissionId: string;
  workspaceId: string;
  linkId: string;
  linkLabel: string | null;
  /** The lead it belongs to today, aliases and merges followed. */
  leadId: string;
  /** When it was accepted: ISO 8601, UTC. */
  acceptedAt: string;
  /** The time its facts are from: ISO 8601, UTC. */
  at: string;
  source: SubmissionSource;
  /** What it sent, normalised. */
  lead: Lead;
  notes: Note[];
}

/** A row of `submissionColumns`: its times are microseconds since 1970. */
type SubmissionRow = Omit<SubmissionSummary, 'acceptedAt' | 'at'> & {
  order: number;
  stamp: number;
};

function readSubmissionSummary<Row extends SubmissionRow>({
  order,
  stamp,
  ...row
}: Row): Omit<Row, 'order' | 'stamp'> & { acceptedAt: string; at: string } {
  return { ...row, acceptedAt: isoTime(order), at: isoTime(stamp) };
}

interface SubmissionFilter {
  workspaceId?: string;
  linkId?: string;
  /** Any id of the lead; the submissions of its other ids are counted in. */
  leadId?: string;
  /** Only those with a lower id than this one, the last of the page before. */
  before?: string;
}

/** Applied submissions, newest first by id (ids are ordered in time), at most `limit`. */
export async function listSubmissions(
  store: Store,
  { workspaceId, linkId, leadId, before }: SubmissionFilter,
  limit: number,
): Promise<SubmissionSummary[]> {
  const conditions = [
    Prisma.sql`true`,
    ...(workspaceId === undefined ? [] : [Prisma.sql`s.workspace_id = ${workspaceId}::uuid`]),
    ...(linkId === undefined ? [] : [Prisma.sql`s.link_id = ${linkId}::uuid`]),
    ...(leadId === undefined ? [] : [ofLead(leadId)]),
    ...(before === undefined ? [] : [Prisma.sql`s.id < ${before}::uuid`]),
  ];
  const rows = await store.prisma.$queryRaw<SubmissionRow[]>`
    SELECT ${submissionColumns} FROM submission s ${submissionJoins}
    WHERE ${Prisma.join(conditions, ' AND ')}
    ORDER BY s.id DESC LIMIT ${limit}`;
  return rows.map(readSubmissionSummary);
}

/** Reserved for the lead of this id, under whichever of its ids. */
function ofLead(leadId: string): Prisma.Sql {
  return Prisma.sql`(s.workspace_id, s.lead_id) IN (
    SELECT own.workspace_id, own.id
    FROM workspace w
    JOIN lead asked ON asked.workspace_id = w.id AND asked.id = ${leadId}::uuid
    JOIN lead own ON ${OWN_OF_ASKED})`;
}

/**
 * The latest applied submissions of workspaces that were accepted at a moment (microseconds since
 * 1970) or later, in the order they were accepted in, at most `limit` of each workspace.
 */
export async function submissionsSince(
  store: Store,
  { workspaceIds, linkId, since }: { workspaceIds: string[]; linkId?: string; since: number },
  limit: number,
): Promise<SubmissionSummary[]> {
  const ofLink = linkId === undefined ? Prisma.empty : Prisma.sql`AND s.link_id = ${linkId}::uuid`;
  const rows = await store.prisma.$queryRaw<SubmissionRow[]>`
    SELECT ${submissionColumns}
    FROM unnest(${workspaceIds}::uuid[]) AS w (id)
    CROSS JOIN LATERAL (
      SELECT * FROM submission s
      WHERE s.workspace_id = w.id AND s."order" >= ${Math.floor(since)}::bigint ${ofLink}
      ORDER BY s."order" DESC LIMIT ${limit}
    ) s ${submissionJoins}
    ORDER BY s."order"`;
  return rows.map(readSubmissionSummary);
}

/** Of these ids and marks, those that a submission has been applied under; of marks also after it went. */
export async function submissionsThere(store: Store, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await store.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM submission WHERE id = ANY (${ids}::uuid[])
    UNION SELECT id FROM imported_row WHERE id = ANY (${ids}::uuid[])`;
  return new Set(rows.map(({ id }) => id));
}

/** A submission with all that was kept of it. */
export interface SubmissionDetails extends SubmissionSummary {
  /** The lead id it was reserved for. */
  reservedFor: string;
  /** The lead id that was answered, if it is another. */
  answeredLeadId: string | null;
  /** Identity key and the lead that the reservation said owns it. */
  identities: [key: string, owner: string | null][];
  /** Null if it brought none. */
  consent: ConsentRecord | null;
  body: string;
  bodyType: BodyType;
  page: string | null;
  userAgent: string | null;
  /** The sender's network address. */
  address: string | null;
  requestId: string | null;
  appliedAt: Date;
}

type DetailsRow = SubmissionRow &
  Omit<SubmissionDetails, keyof SubmissionSummary | 'consent'> & { consent: ConsentRow | null };

const detailsColumns = Prisma.sql`
  ${submissionColumns}, s.lead_id AS "reservedFor", s.answered_lead_id AS "answeredLeadId",
  s.identities, ${consentOfSubmission}, s.body, s.body_type AS "bodyType", s.page, s.user_agent AS "userAgent",
  s.address, s.request_id AS "requestId", s.applied_at AS "appliedAt"`;

const readDetails = (row: DetailsRow): SubmissionDetails => ({
  ...readSubmissionSummary(row),
  consent: row.consent && readConsent(row.consent),
});

/** One submission; null if none of this id has been applied. */
export async function showSubmission(
  store: Store,
  submissionId: string,
): Promise<SubmissionDetails | null> {
  const [row] = await store.prisma.$queryRaw<DetailsRow[]>`
    SELECT ${detailsColumns} FROM submission s ${submissionJoins}
    WHERE s.id = ${submissionId}::uuid`;
  return row === undefined ? null : readDetails(row);
}

/** Every submission of a lead, under any of its ids, with all that was kept of it, oldest first. */
export async function submissionsOfLead(
  store: Store,
  leadId: string,
): Promise<SubmissionDetails[]> {
  const rows = await store.prisma.$queryRaw<DetailsRow[]>`
    SELECT ${detailsColumns} FROM submission s ${submissionJoins}
    WHERE ${ofLead(leadId)} ORDER BY s."order"`;
  return rows.map(readDetails);
}

/** A submission as it was accepted, and what its lead is today. */
export interface StoredSubmission {
  submission: Submission;
  /** The lead it belongs to today, aliases and merges followed. */
  leadId: string;
  /** Whether it created the lead, so that the lead's custom fields are its. */
  isCreator: boolean;
  /** Of the lead, by field id. */
  customFields: Record<string, CustomValue>;
}

export interface StoredFilter {
  linkId?: string;
  leadId?: string;
  /** Only those accepted at this moment or later. */
  since?: Date;
  /** Only those accepted before this moment. */
  until?: Date;
  /** Only those that created their lead, or only those that changed one. */
  outcome?: 'created' | 'updated';
  note?: NoteCode;
  /** Only those that came in this way. */
  source?: SubmissionSource;
  /** Only those of a higher order than this (microseconds). */
  afterOrder?: number;
}

type Row = Pick<
  Submission,
  'id' | 'workspaceId' | 'linkId' | 'leadId' | 'order' | 'stamp' | 'source' | 'lead' | 'notes'
> &
  Pick<Submission, 'body' | 'bodyType'> &
  Pick<StoredSubmission, 'isCreator' | 'customFields'> & {
    reservedFor: string;
    answeredLeadId: string | null;
    identities: [key: string, owner: string | null][];
    consent: Consent | null;
    sender: Record<'page' | 'userAgent' | 'address' | 'requestId', string | null>;
  };

/**
 * The submissions of a workspace that fit, in the order they were accepted in, page by page. Those
 * of erased leads are left out: there is nothing left to apply.
 */
export async function* storedSubmissions(
  store: Store,
  workspaceId: string,
  filter: StoredFilter,
  { pageSize = 500 } = {},
): AsyncGenerator<StoredSubmission[]> {
  const conditions = conditionsOf(workspaceId, filter);
  const pages = pagesOf<Row>(
    pageSize,
    (last) => store.prisma.$queryRaw`
      SELECT s.id, s.workspace_id AS "workspaceId", s.link_id AS "linkId",
             s.lead_id AS "reservedFor", l.id AS "leadId", s.answered_lead_id AS "answeredLeadId",
             s."order"::float8 AS "order", s.stamp::float8 AS stamp, s.source, s.identities, s.lead,
             s.notes, s.consent, s.body, s.body_type AS "bodyType",
             jsonb_build_object('page', s.page, 'userAgent', s.user_agent, 'address', s.address,
               'requestId', s.request_id) AS sender,
             l.creator_id IS NOT DISTINCT FROM s.id AS "isCreator",
             l.custom_fields AS "customFields"
      FROM submission s
      JOIN lead asked ON asked.workspace_id = s.workspace_id AND asked.id = s.lead_id
      JOIN lead l ON l.workspace_id = s.workspace_id AND l.id = coalesce(asked.merged_into, asked.id)
      WHERE ${Prisma.join(conditions, ' AND ')} AND s."order" > ${last?.order ?? filter.afterOrder ?? 0}::bigint
      ORDER BY s."order" LIMIT ${pageSize}`,
  );
  for await (const rows of pages) yield rows.map(readRow);
}

/** How many of a workspace fit. */
export async function countStoredSubmissions(
  store: Store,
  workspaceId: string,
  filter: StoredFilter,
): Promise<number> {
  const [row] = await store.prisma.$queryRaw<[{ count: number }]>`
    SELECT count(*)::float8 AS count
    FROM submission s
    JOIN lead asked ON asked.workspace_id = s.workspace_id AND asked.id = s.lead_id
    JOIN lead l ON l.workspace_id = s.workspace_id AND l.id = coalesce(asked.merged_into, asked.id)
    WHERE ${Prisma.join(conditionsOf(workspaceId, filter), ' AND ')}`;
  return row.count;
}

function conditionsOf(
  workspaceId: string,
  { linkId, leadId, since, until, outcome, note, source, afterOrder }: StoredFilter,
): Prisma.Sql[] {
  return [
    Prisma.sql`s.workspace_id = ${workspaceId}::uuid AND l.erased_order IS NULL`,
    ...(linkId === undefined ? [] : [Prisma.sql`s.link_id = ${linkId}::uuid`]),
    ...(leadId === undefined ? [] : [Prisma.sql`s.lead_id IN (${idsOfLead(workspaceId, leadId)})`]),
    ...(since === undefined ? [] : [Prisma.sql`s."order" >= ${microseconds(since)}::bigint`]),
    ...(until === undefined ? [] : [Prisma.sql`s."order" < ${microseconds(until)}::bigint`]),
    ...(afterOrder === undefined ? [] : [Prisma.sql`s."order" > ${afterOrder}::bigint`]),
    ...(source === undefined ? [] : [Prisma.sql`s.source = ${source}`]),
    ...(outcome === undefined
      ? []
      : [
          outcome === 'created'
            ? Prisma.sql`l.creator_id = s.id`
            : Prisma.sql`l.creator_id IS DISTINCT FROM s.id`,
        ]),
    ...(note === undefined
      ? []
      : [Prisma.sql`s.notes @> ${JSON.stringify([{ code: note }])}::jsonb`]),
  ];
}

function readRow(row: Row): StoredSubmission {
  const { answeredLeadId, identities, consent, reservedFor, sender } = row;
  const { id, workspaceId, linkId, order, stamp, source, lead, notes, body, bodyType } = row;
  const { page, userAgent, address, requestId } = sender;
  return {
    submission: {
      id,
      workspaceId,
      linkId,
      leadId: reservedFor,
      ...(answeredLeadId !== null && { answeredLeadId }),
      identities: identities.map(([key, owner]) => ({ key, owner })),
      order,
      stamp,
      source,
      lead,
      notes,
      ...(consent !== null && { consent }),
      body,
      bodyType,
      ...(page !== null && { page }),
      ...(userAgent !== null && { userAgent }),
      ...(address !== null && { address }),
      ...(requestId !== null && { requestId }),
    },
    leadId: row.leadId,
    isCreator: row.isCreator,
    customFields: row.customFields,
  };
}
