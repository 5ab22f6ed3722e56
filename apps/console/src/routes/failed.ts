import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { discardFailed, retryFailed } from '@leadgate/operations';
import type { FailedJob } from '@leadgate/queue';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { forRole } from '../mask/mask.ts';
import { newestFailed } from '../newest-failed.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { Limit, open, PROBLEM_ANSWERS, Time } from './route-schema.ts';

const FailedView = Type.Object({ jobId: Type.String(), reason: Type.String(), failedAt: Time });
const JobParams = Type.Object({ jobId: Type.String() });

const view = ({ jobId, reason, failedAt }: FailedJob) => ({
  jobId,
  reason,
  failedAt: failedAt.toISOString(),
});

/** Submissions that are out of attempts: by reason, list, show, retry, discard. */
export const failedRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (
  app,
  { store, failed },
) => {
  app.get(
    '/failed/reasons',
    {
      schema: {
        operationId: 'listFailedReasons',
        summary: 'Why submissions failed, those with most first; of the newest 5,000',
        response: {
          200: Type.Array(
            Type.Object({
              reason: Type.String(),
              jobs: Type.Integer(),
              oldest: Time,
              newest: Time,
            }),
          ),
          ...PROBLEM_ANSWERS,
        },
      },
    },
    async () =>
      (await failed.reasons()).reasons.map(({ reason, jobs, oldest, newest }) => ({
        reason,
        jobs,
        oldest: oldest.toISOString(),
        newest: newest.toISOString(),
      })),
  );

  app.get(
    '/failed',
    {
      schema: {
        operationId: 'listFailed',
        summary: 'List failed submissions, newest first',
        querystring: Type.Object({
          reason: Type.Optional(Type.String({ description: 'The whole reason.' })),
          before: Type.Optional(Type.String({ description: 'The last id of the page before.' })),
          limit: Limit,
        }),
        response: { 200: Type.Array(FailedView), ...PROBLEM_ANSWERS },
      },
    },
    async ({ query: { limit = 50, ...filter } }) =>
      (await newestFailed(failed, filter, limit)).map(view),
  );

  app.get(
    '/failed/:jobId',
    {
      schema: {
        operationId: 'showFailed',
        summary: 'Show a failed submission with what it carries',
        params: JobParams,
        response: { 200: open(FailedView.properties), ...PROBLEM_ANSWERS },
      },
    },
    async (request) => {
      const job = await failed.show(request.params.jobId);
      if (job === null) throw new ProblemError('not-found');
      const { attempts, replay, submission } = job;
      return forRole(actorOf(request).role, { ...view(job), attempts, replay, submission });
    },
  );

  app.post(
    '/failed/:jobId/retry',
    {
      config: { action: 'failed.retry' },
      schema: {
        operationId: 'retryFailed',
        summary: 'Give a failed submission all its attempts again',
        params: JobParams,
        response: { 204: Type.Null(), ...PROBLEM_ANSWERS },
      },
    },
    async ({ params }, reply) => {
      if (!(await failed.retry(params.jobId))) throw new ProblemError('not-found');
      return reply.code(204).send(null);
    },
  );

  app.post(
    '/failed/retry',
    {
      config: { action: 'failed.retry-all', subject: ['reason', 'dryRun'] },
      schema: {
        operationId: 'retryAllFailed',
        summary: 'Give failed submissions, of a reason or all, their attempts again',
        body: Type.Object(
          {
            reason: Type.Optional(Type.String()),
            perSecond: Type.Optional(Type.Integer({ minimum: 1 })),
            dryRun: Type.Optional(Type.Boolean()),
          },
          { additionalProperties: false },
        ),
        response: {
          200: Type.Object({ retried: Type.Integer(), gone: Type.Integer() }),
          ...PROBLEM_ANSWERS,
        },
      },
    },
    async ({ body: { reason, ...options } }, reply) => {
      // At a rate it may take hours: it ends with whoever asked for it, and can be asked for again.
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      const filter = reason === undefined ? {} : { reason };
      return retryFailed(failed, filter, { ...options, signal: gone.signal });
    },
  );

  app.post(
    '/failed/:jobId/discard',
    {
      config: { action: 'failed.discard', subject: ['reason'] },
      schema: {
        operationId: 'discardFailed',
        summary: 'Take a failed submission out of the queue, with a reason; it is kept in Postgres',
        params: JobParams,
        body: Type.Object(
          { reason: Type.String({ minLength: 3, maxLength: 500 }) },
          { additionalProperties: false },
        ),
        response: { 204: Type.Null(), ...PROBLEM_ANSWERS },
      },
    },
    async ({ params, body }, reply) => {
      const outcome = await discardFailed({ store, failed }, params.jobId, body.reason);
      if (outcome.kind === 'unknown') throw new ProblemError('not-found');
      return reply.code(204).send(null);
    },
  );
};
