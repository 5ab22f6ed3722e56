import type { FailedJob, FailedJobs } from '@leadgate/queue';
import { keepDiscarded, type Store } from '@leadgate/store';
import { Type } from 'typebox';
import { NOTHING, operation, Refusal } from './operation.ts';
import { createPace } from './pace.ts';
import { At, Limit, open } from './schema.ts';

const jobId = Type.String();
const FailedView = Type.Object({ jobId, reason: Type.String(), failedAt: At });

const unknown = (id: string): Refusal =>
  new Refusal('not-found', `No failed job has the id "${id}".`);

/** Submissions that are out of attempts. */
export const failed = {
  reasons: operation({
    name: 'failed.reasons',
    id: 'listFailedReasons',
    method: 'GET',
    path: '/failed/reasons',
    summary: 'Why submissions failed, those with most first; of the newest 5,000',
    input: Type.Object({}),
    output: Type.Array(
      Type.Object({ reason: Type.String(), jobs: Type.Integer(), oldest: At, newest: At }),
    ),
    run: async (_input, connections) => (await (await connections.failed()).reasons()).reasons,
  }),

  list: operation({
    name: 'failed.list',
    id: 'listFailed',
    method: 'GET',
    path: '/failed',
    summary: 'List failed submissions, newest first',
    input: Type.Object({
      reason: Type.Optional(Type.String({ description: 'The whole reason.' })),
      before: Type.Optional(Type.String({ description: 'The last id of the page before.' })),
      limit: Limit,
    }),
    output: Type.Array(FailedView),
    run: async ({ limit = 50, ...filter }, connections) => {
      const jobs: FailedJob[] = [];
      for await (const page of (await connections.failed()).pages('newest-first', filter)) {
        jobs.push(...page);
        if (jobs.length >= limit) break;
      }
      return jobs.slice(0, limit);
    },
  }),

  show: operation({
    name: 'failed.show',
    id: 'showFailed',
    method: 'GET',
    path: '/failed/:jobId',
    summary: 'Show a failed submission with what it carries',
    personal: 'whole',
    input: Type.Object({ jobId }),
    output: open(FailedView.properties),
    run: async (input, connections) => {
      const job = await (await connections.failed()).show(input.jobId);
      if (job === null) return unknown(input.jobId);
      const { reason, failedAt, attempts, replay, submission } = job;
      return { jobId: job.jobId, reason, failedAt, attempts, replay, submission };
    },
  }),

  retry: operation({
    name: 'failed.retry',
    id: 'retryFailed',
    method: 'POST',
    path: '/failed/:jobId/retry',
    summary: 'Give a failed submission all its attempts again',
    input: Type.Object({ jobId }),
    output: NOTHING,
    run: async (input, connections) =>
      (await (await connections.failed()).retry(input.jobId)) ? null : unknown(input.jobId),
  }),

  retryAll: operation({
    name: 'failed.retry-all',
    id: 'retryAllFailed',
    method: 'POST',
    path: '/failed/retry',
    summary: 'Give failed submissions, of a reason or all, their attempts again',
    subject: ['reason'],
    input: Type.Object({
      reason: Type.Optional(Type.String()),
      perSecond: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
      dryRun: Type.Optional(Type.Boolean()),
    }),
    output: Type.Object({
      retried: Type.Integer(),
      gone: Type.Integer(),
      stopped: Type.Boolean(),
    }),
    // At a rate it may take hours: it ends with who asked for it, and can be asked for again.
    run: async ({ reason, ...options }, connections, { signal }) => {
      const filter = reason === undefined ? {} : { reason };
      return retryFailed(await connections.failed(), filter, { ...options, signal });
    },
  }),

  discard: operation({
    name: 'failed.discard',
    id: 'discardFailed',
    method: 'POST',
    path: '/failed/:jobId/discard',
    summary: 'Take a failed submission out of the queue, with a reason; it is kept in Postgres',
    subject: ['reason'],
    input: Type.Object({ jobId, reason: Type.String({ minLength: 1, maxLength: 500 }) }),
    output: NOTHING,
    run: async ({ jobId: id, reason }, { store, failed: open }) => {
      const outcome = await discardFailed({ store, failed: await open() }, id, reason.trim());
      return outcome.kind === 'unknown' ? unknown(id) : null;
    },
  }),
};

interface RetryFailedOptions {
  /** At most so many a second; without it as fast as Redis takes them. */
  perSecond?: number;
  /** Counts, and changes nothing. */
  dryRun?: boolean;
  /** Stops between two jobs. */
  signal?: AbortSignal;
  /** Told now and then how many were retried until then. */
  onProgress?: (retried: number) => void;
}

interface RetriedFailed {
  /** With `dryRun`: how many would be. */
  retried: number;
  /** Those that somebody else retried or discarded first. */
  gone: number;
  /** Whether `signal` stopped it. */
  stopped: boolean;
}

/** In Redis at once, if no rate is asked for. */
const AT_ONCE = 50;

/**
 * Gives failed jobs all their attempts again: those of a reason, or all that have failed until now;
 * a job that fails once more meanwhile is not retried again. Oldest first.
 */
export async function retryFailed(
  failed: Pick<FailedJobs, 'pages' | 'retry'>,
  { reason }: { reason?: string },
  { perSecond, dryRun = false, signal, onProgress }: RetryFailedOptions,
): Promise<RetriedFailed> {
  const result: RetriedFailed = { retried: 0, gone: 0, stopped: false };
  const pace = createPace(perSecond, signal);
  const retryOne = async (jobId: string): Promise<void> => {
    await pace();
    if (signal?.aborted === true) result.stopped = true;
    else if (dryRun || (await failed.retry(jobId))) result.retried += 1;
    else result.gone += 1;
  };
  const filter = { until: new Date(), ...(reason !== undefined && { reason }) };
  for await (const jobs of failed.pages('oldest-first', filter)) {
    for (let i = 0; i < jobs.length && !result.stopped; i += AT_ONCE)
      await Promise.all(jobs.slice(i, i + AT_ONCE).map(({ jobId }) => retryOne(jobId)));
    onProgress?.(result.retried);
    if (result.stopped) break;
  }
  return result;
}

type DiscardedFailed = { kind: 'discarded' } | { kind: 'unknown' };

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
