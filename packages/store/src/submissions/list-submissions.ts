import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';
import {
  readSubmissionSummary,
  submissionColumns,
  submissionJoins,
  type SubmissionRow,
  type SubmissionSummary,
} from './submission-row.ts';

export interface SubmissionFilter {
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
    JOIN lead own ON own.workspace_id = w.id
      AND (own.id = coalesce(asked.merged_into, asked.id)
        OR own.merged_into = coalesce(asked.merged_into, asked.id)))`;
}
