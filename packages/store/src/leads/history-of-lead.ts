import type { Lead, Note, SubmissionSource } from '@leadgate/contract';
import type { Store } from '../open-store.ts';
import { isoTime } from '../iso-time.ts';
import type { LeadRow } from './lead-row.ts';

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
  /** What it sent, normalised. */
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
export async function historyOfLead(
  store: Store,
  lead: LeadRow,
  limit: number,
): Promise<{ entries: HistoryEntry[]; total: number }> {
  const rows = await store.prisma.$queryRaw<HistoryRow[]>`
    SELECT s.id, s."order"::float8 AS "order", s.stamp::float8 AS stamp, s.source,
           s.link_id AS "linkId", k.label AS "linkLabel", s.page, s.lead_id AS "leadId", s.lead,
           s.notes, count(*) OVER ()::float8 AS total
    FROM submission s LEFT JOIN capture_link k ON k.id = s.link_id
    WHERE s.workspace_id = ${lead.workspaceId}::uuid AND s.lead_id IN (
      SELECT id FROM lead WHERE workspace_id = ${lead.workspaceId}::uuid
        AND (id = ${lead.id}::uuid OR merged_into = ${lead.id}::uuid))
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
      ...(lead.lastTouch?.submissionId === row.id ? ['utm'] : []),
      ...(lead.creatorId === row.id && Object.keys(lead.customFields).length > 0
        ? ['customFields']
        : []),
    ],
    notes: row.notes,
  };
}
