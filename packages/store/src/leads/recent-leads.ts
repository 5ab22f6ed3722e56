import type { Store } from '../open-store.ts';
import { fieldsOfWorkspaces } from './fields-of-workspaces.ts';
import { leadColumns, readLeadSummary, type LeadRow, type LeadSummary } from './lead-row.ts';

/** Submissions looked at for every lead asked for: a lead may have sent several. */
const SUBMISSIONS_A_LEAD = 4;

/**
 * The leads of the newest submissions, of one workspace or of all, the newest first. Reads the end
 * of the submission log only, however many leads there are; so there may be fewer than `limit`.
 */
export async function recentLeads(
  store: Store,
  workspaceId: string | undefined,
  limit: number,
): Promise<LeadSummary[]> {
  const wanted = workspaceId ?? null;
  const rows = await store.prisma.$queryRaw<LeadRow[]>`
    WITH newest AS (
      SELECT workspace_id, lead_id, id FROM submission
      WHERE ${wanted}::uuid IS NULL OR workspace_id = ${wanted}::uuid
      ORDER BY id DESC LIMIT ${limit * SUBMISSIONS_A_LEAD}
    ), found AS (
      SELECT a.workspace_id, coalesce(a.merged_into, a.id) AS id, max(newest.id::text) AS last
      FROM newest JOIN lead a ON a.workspace_id = newest.workspace_id AND a.id = newest.lead_id
      GROUP BY 1, 2
    )
    SELECT ${leadColumns}
    FROM found
    JOIN lead l ON l.workspace_id = found.workspace_id AND l.id = found.id
    JOIN workspace w ON w.id = l.workspace_id
    ORDER BY found.last DESC LIMIT ${limit}`;
  const fields = await fieldsOfWorkspaces(
    store,
    rows.map((row) => row.workspaceId),
  );
  return rows.map((row) => readLeadSummary(row, fields));
}
