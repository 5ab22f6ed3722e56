import type { Consent, CustomValue, NoteCode, Submission } from '@leadgate/contract';
import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';

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
  /** Any id of the lead. */
  leadId?: string;
  /** Only those accepted at this moment or later. */
  since?: Date;
  /** Only those accepted before this moment. */
  until?: Date;
  /** Only those that created their lead, or only those that changed one. */
  outcome?: 'created' | 'updated';
  /** Only those with a note of this code. */
  note?: NoteCode;
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
  for (let after = filter.afterOrder ?? 0; ;) {
    const rows = await store.prisma.$queryRaw<Row[]>`
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
      WHERE ${Prisma.join(conditions, ' AND ')} AND s."order" > ${after}::bigint
      ORDER BY s."order" LIMIT ${pageSize}`;
    if (rows.length > 0) yield rows.map(readRow);
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageSize) return;
    after = last.order;
  }
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
  { linkId, leadId, since, until, outcome, note, afterOrder }: StoredFilter,
): Prisma.Sql[] {
  return [
    Prisma.sql`s.workspace_id = ${workspaceId}::uuid AND l.erased_order IS NULL`,
    ...(linkId === undefined ? [] : [Prisma.sql`s.link_id = ${linkId}::uuid`]),
    ...(leadId === undefined ? [] : [Prisma.sql`s.lead_id IN (${idsOf(workspaceId, leadId)})`]),
    ...(since === undefined ? [] : [Prisma.sql`s."order" >= ${microseconds(since)}::bigint`]),
    ...(until === undefined ? [] : [Prisma.sql`s."order" < ${microseconds(until)}::bigint`]),
    ...(afterOrder === undefined ? [] : [Prisma.sql`s."order" > ${afterOrder}::bigint`]),
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

/** Every id that stands for the lead. */
function idsOf(workspaceId: string, leadId: string): Prisma.Sql {
  return Prisma.sql`
    SELECT own.id FROM lead asked
    JOIN lead own ON own.workspace_id = asked.workspace_id
      AND (own.id = coalesce(asked.merged_into, asked.id)
        OR own.merged_into = coalesce(asked.merged_into, asked.id))
    WHERE asked.workspace_id = ${workspaceId}::uuid AND asked.id = ${leadId}::uuid`;
}

const microseconds = (time: Date): number => time.getTime() * 1_000;

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
