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
 * The latest applied submissions of a workspace that were accepted at a moment (microseconds since
 * 1970) or later, in the order they were accepted in, at most `limit`.
 */
export async function submissionsSince(
  store: Store,
  { workspaceId, linkId, since }: { workspaceId: string; linkId?: string; since: number },
  limit: number,
): Promise<SubmissionSummary[]> {
  const ofLink = linkId === undefined ? Prisma.empty : Prisma.sql`AND s.link_id = ${linkId}::uuid`;
  const rows = await store.prisma.$queryRaw<SubmissionRow[]>`
    SELECT ${submissionColumns} FROM submission s ${submissionJoins}
    WHERE s.workspace_id = ${workspaceId}::uuid AND s."order" >= ${Math.floor(since)}::bigint ${ofLink}
    ORDER BY s."order" DESC LIMIT ${limit}`;
  return rows.map(readSubmissionSummary).toReversed();
}
