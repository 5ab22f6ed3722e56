import type { FailedJobs } from '@leadgate/queue';
import { keepDiscarded, type Store } from '@leadgate/store';

export type DiscardedFailed = { kind: 'discarded' } | { kind: 'unknown' };

/**
 * Takes a failed job out of the queue for good, with the operator's reason. All that it carried is
 * kept in Postgres: it is somebody's lead. Rejects when Postgres or Redis fails, and then it stands
 * in the queue still.
 */
export async function discardFailed(
  { store, failed }: { store: Store; failed: Pick<FailedJobs, 'show' | 'remove'> },
  jobId: string,
  reason: string,
): Promise<DiscardedFailed> {
  const job = await failed.show(jobId);
  if (job === null) return { kind: 'unknown' };
  const { submission } = job;
  const discardedAt = new Date();
  await keepDiscarded(store, {
    jobId,
    discardedAt,
    reason,
    failure: job.reason,
    submissionId: submission?.id ?? null,
    workspaceId: submission?.workspaceId ?? null,
    linkId: submission?.linkId ?? null,
    content: submission ?? job.data,
  });
  // Whoever retries it in this moment wins: it is applied, and the record says that it was given up.
  return (await failed.remove(jobId)) ? { kind: 'discarded' } : { kind: 'unknown' };
}
