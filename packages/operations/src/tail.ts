import type { FailedJobs } from '@leadgate/queue';
import {
  listRejected,
  type RejectedSummary,
  type Store,
  submissionsSince,
  type SubmissionSummary,
} from '@leadgate/store';

/** Something that happened. */
export type TailEvent =
  | { kind: 'submission'; submission: SubmissionSummary }
  | { kind: 'rejected'; rejected: RejectedSummary }
  | { kind: 'failed'; jobId: string; reason: string; failedAt: Date };

export interface TailOptions {
  /** Only of this workspace, and of this link of it. */
  of?: { workspaceId: string; linkId?: string };
  /** Of which workspaces, if it is not of one. */
  workspaceIds: () => Promise<string[]>;
  signal: AbortSignal;
  /** Between two looks; resolves early when `signal` says to stop. */
  wait: () => Promise<void>;
}

/**
 * Orders and times are given before they are committed: what is looked at again each time, so that
 * one that comes late is not missed. Microseconds.
 */
const OVERLAP = 60_000_000;
const PAGE = 200;

/**
 * What happens from now on: submissions as they are applied, refused bodies as they are kept, jobs as
 * they fail; each once. Looks at Postgres and Redis again and again until `signal`.
 */
export async function* tail(
  { store, failed }: { store: Store; failed: Pick<FailedJobs, 'pages' | 'show'> },
  { of, workspaceIds, signal, wait }: TailOptions,
): AsyncGenerator<TailEvent> {
  const start = Date.now();
  const isNew = createMemory();
  for (let first = true; !signal.aborted; first = false) {
    // What was there before is only remembered.
    for await (const { key, event } of look())
      if (isNew(key) && !first && !signal.aborted) yield event;
    await wait();
  }

  async function* look(): AsyncGenerator<{ key: string; event: TailEvent }> {
    const since = Math.max(start * 1_000 - OVERLAP, Date.now() * 1_000 - OVERLAP);
    const submissions = await submissionsSince(
      store,
      {
        workspaceIds: of === undefined ? await workspaceIds() : [of.workspaceId],
        ...(of?.linkId !== undefined && { linkId: of.linkId }),
        since,
      },
      PAGE,
    );
    for (const submission of submissions)
      yield { key: `s ${submission.submissionId}`, event: { kind: 'submission', submission } };
    const rejected = await listRejected(store, { since: new Date(since / 1_000), ...of }, PAGE);
    for (const one of rejected.toReversed())
      yield { key: `r ${one.rejectedId}`, event: { kind: 'rejected', rejected: one } };
    yield* lookAtFailed(since / 1_000);
  }

  async function* lookAtFailed(since: number): AsyncGenerator<{ key: string; event: TailEvent }> {
    for await (const page of failed.pages('newest-first')) {
      for (const { jobId, reason, failedAt } of page) {
        if (failedAt.getTime() < since) return;
        if (of !== undefined && !(await isOf(of, jobId))) continue;
        const key = `f ${jobId} ${failedAt.getTime()}`;
        yield { key, event: { kind: 'failed', jobId, reason, failedAt } };
      }
    }
  }

  /** What a job is of stands in the job itself. */
  async function isOf(
    { workspaceId, linkId }: NonNullable<TailOptions['of']>,
    jobId: string,
  ): Promise<boolean> {
    const submission = (await failed.show(jobId))?.submission ?? null;
    return (
      submission?.workspaceId === workspaceId &&
      (linkId === undefined || submission.linkId === linkId)
    );
  }
}

/** Far more than can happen within the overlap and be looked at. */
const REMEMBERED = 20_000;

function createMemory(): (key: string) => boolean {
  const seen = new Set<string>();
  return (key) => {
    if (seen.has(key)) return false;
    seen.add(key);
    if (seen.size > REMEMBERED) for (const oldest of seen) return seen.delete(oldest);
    return true;
  };
}
