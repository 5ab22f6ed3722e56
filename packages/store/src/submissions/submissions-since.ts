import { Prisma } from '../generated/client.ts';
import type { Store } from '../open-store.ts';
import {
  readSubmissionSummary,
  submissionColumns,
  submissionJoins,
  type SubmissionRow,
  type SubmissionSummary,
} from './submission-row.ts';

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
