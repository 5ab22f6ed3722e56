import type { Store } from '../open-store.ts';
import { storableTexts } from '../storable-text.ts';

/** A failed job that an operator gave up. Ids are null where the job could not be read. */
export interface DiscardedSubmission {
  jobId: string;
  discardedAt: Date;
  /** The operator's. */
  reason: string;
  /** The job's last failure. */
  failure: string;
  submissionId: string | null;
  workspaceId: string | null;
  linkId: string | null;
  /** All that it carried. */
  content: unknown;
}

/** Keeps what a failed job carried, before it is taken out of the queue. */
export async function keepDiscarded(store: Store, discarded: DiscardedSubmission): Promise<void> {
  const { jobId, discardedAt, reason, failure, submissionId, workspaceId, linkId, content } =
    storableTexts({ ...discarded, discardedAt: discarded.discardedAt.toISOString() });
  await store.prisma.$executeRaw`
    INSERT INTO discarded_submission
      (job_id, discarded_at, reason, failure, submission_id, workspace_id, link_id, content)
    VALUES (${jobId}, ${discardedAt}::timestamptz, ${reason}, ${failure}, ${submissionId}::uuid,
            ${workspaceId}::uuid, ${linkId}::uuid, ${JSON.stringify(content)}::jsonb)`;
}
