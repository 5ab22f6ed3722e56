import type { FailedJob } from '@leadgate/queue';
import { Type } from 'typebox';
import { NOTHING, operation, Refusal } from './operation.ts';
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
    scope: null,
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
    scope: null,
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
    scope: 'jobId',
    personal: true,
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
    scope: 'jobId',
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
    scope: null,
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
      const { retryFailed } = await import('./failed/retry-failed.ts');
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
    scope: 'jobId',
    subject: ['reason'],
    input: Type.Object({ jobId, reason: Type.String({ minLength: 1, maxLength: 500 }) }),
    output: NOTHING,
    run: async ({ jobId: id, reason }, { store, failed: open }) => {
      const { discardFailed } = await import('./failed/discard-failed.ts');
      const outcome = await discardFailed({ store, failed: await open() }, id, reason.trim());
      return outcome.kind === 'unknown' ? unknown(id) : null;
    },
  }),
};
