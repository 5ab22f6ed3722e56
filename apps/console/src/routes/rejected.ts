import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import {
  mendRejected,
  replayAllRejected,
  replayRejected,
  type Mending,
  type ReplayedRejected,
} from '@leadgate/operations';
import { listRejected, showRejected, type RejectedSummary } from '@leadgate/store';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { forRole } from '../mask/mask.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import { idParams, Limit, Nullable, open, PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

const FieldErrors = Type.Array(
  Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String() }),
);

const summary = {
  rejectedId: Uuid,
  workspaceId: Uuid,
  linkId: Uuid,
  linkLabel: Nullable(Type.String()),
  at: Time,
  code: Type.String(),
  errors: FieldErrors,
  bodyType: Type.String(),
  bytes: Type.Integer(),
  mendedAt: Nullable(Time),
  submissionId: Nullable(Uuid),
  replayedAt: Nullable(Time),
};
const RejectedView = Type.Object(summary);
const RejectedDetails = open({ ...summary, body: Type.String() });

const filter = {
  workspaceId: Type.Optional(Uuid),
  linkId: Type.Optional(Uuid),
  code: Type.Optional(Type.String({ description: 'Of the problem, or of one of its errors.' })),
  since: Type.Optional(Time),
  until: Type.Optional(Time),
};

const Replay = {
  lenient: Type.Optional(
    Type.Boolean({ description: 'Sets aside what is still wrong, instead of refusing for it.' }),
  ),
  dryRun: Type.Optional(Type.Boolean({ description: 'Says what would come of it.' })),
};

/** Bulk replays answer after so many at most; what is left is asked for again. */
const MOST_AT_ONCE = 5_000;

type Moments<T> = Omit<T, 'since' | 'until'> & { since?: Date; until?: Date };

function readFilter<T extends { since?: string; until?: string }>(asked: T): Moments<T> {
  const { since, until, ...rest } = asked;
  return {
    ...rest,
    ...(since !== undefined && { since: new Date(since) }),
    ...(until !== undefined && { until: new Date(until) }),
  };
}

/** Times as texts. */
const view = <T extends RejectedSummary>({ mendedAt, replayedAt, ...rejected }: T) => ({
  ...rejected,
  mendedAt: mendedAt?.toISOString() ?? null,
  replayedAt: replayedAt?.toISOString() ?? null,
});

/** Refused bodies: list, show, mend, replay one or all that fit. */
export const rejectedRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store } = services;
  app.get(
    '/rejected',
    {
      schema: {
        operationId: 'listRejected',
        summary: 'List refused bodies, newest first',
        querystring: Type.Object({
          ...filter,
          replayed: Type.Optional(Type.Boolean()),
          before: Type.Optional(Type.String({ description: 'The last id of the page before.' })),
          limit: Limit,
        }),
        response: { 200: Type.Array(RejectedView), ...PROBLEM_ANSWERS },
      },
    },
    async (request) => {
      const { limit = 50, ...asked } = request.query;
      const rejected = await listRejected(store, readFilter(asked), limit);
      return forRole(actorOf(request).role, rejected.map(view));
    },
  );

  app.get(
    '/rejected/:rejectedId',
    {
      schema: {
        operationId: 'showRejected',
        summary: 'Show a refused body, as sent and as mended',
        params: idParams('rejectedId'),
        response: { 200: RejectedDetails, ...PROBLEM_ANSWERS },
      },
    },
    async (request) => {
      const rejected = await showRejected(store, request.params.rejectedId);
      if (rejected === null) throw new ProblemError('not-found');
      return forRole(actorOf(request).role, view(rejected));
    },
  );

  app.post(
    '/rejected/:rejectedId/mend',
    {
      config: { action: 'rejected.mend' },
      schema: {
        operationId: 'mendRejected',
        summary: 'Mend a refused body: another one, or some fields of it; what was sent is kept',
        params: idParams('rejectedId'),
        body: Type.Union([
          Type.Object(
            {
              set: Type.Record(Type.String(), Type.String(), {
                description: 'Values by field (address.city); an empty one takes it out.',
              }),
            },
            { additionalProperties: false },
          ),
          Type.Object(
            {
              body: Type.String(),
              bodyType: Type.Union([Type.Literal('json'), Type.Literal('form')]),
            },
            { additionalProperties: false },
          ),
        ]),
        response: {
          200: Type.Object({ body: Type.String(), bodyType: Type.String(), errors: FieldErrors }),
          ...PROBLEM_ANSWERS,
        },
      },
    },
    async ({ params, body }) => {
      const mending: Mending =
        'set' in body ? { kind: 'set', values: body.set } : { kind: 'body', ...body };
      const outcome = await mendRejected(store, params.rejectedId, mending, { now: Date.now() });
      if (outcome.kind === 'unknown') throw new ProblemError('not-found');
      if (outcome.kind === 'already-replayed')
        throw new ProblemError('conflict', { detail: 'It was replayed already.' });
      if (outcome.kind === 'unparsable')
        throw new ProblemError('conflict', {
          detail: 'It cannot be parsed, so no field of it can be set: give another body.',
        });
      return outcome;
    },
  );

  app.post(
    '/rejected/:rejectedId/replay',
    {
      config: { action: 'rejected.replay' },
      schema: {
        operationId: 'replayRejected',
        summary: 'Take a refused body after all: its own time, an order of now',
        params: idParams('rejectedId'),
        body: Type.Object(Replay, { additionalProperties: false }),
        response: {
          200: Type.Object({
            outcome: Type.String({ description: 'accepted, acceptable or already-replayed' }),
            submissionId: Uuid,
          }),
          ...PROBLEM_ANSWERS,
        },
      },
    },
    async ({ params, body }) => {
      const options = { ...body, now: Date.now() };
      const outcome = await replayRejected(services, params.rejectedId, options);
      if (outcome.kind === 'unknown') throw new ProblemError('not-found');
      if (outcome.kind === 'behind')
        throw new ProblemError('unavailable', { detail: 'Redis is being refilled; try again.' });
      if (outcome.kind === 'refused') throw new ProblemError('invalid', { errors: outcome.errors });
      return { outcome: outcome.kind, submissionId: outcome.submissionId };
    },
  );

  app.post(
    '/rejected/replay',
    {
      config: {
        action: 'rejected.replay-all',
        subject: ['workspaceId', 'linkId', 'code', 'since', 'until', 'lenient', 'dryRun'],
      },
      schema: {
        operationId: 'replayAllRejected',
        summary: 'Take all refused bodies that fit and are acceptable now',
        body: Type.Object({ ...filter, ...Replay }, { additionalProperties: false }),
        response: {
          200: Type.Object({
            outcomes: Type.Record(Type.String(), Type.Integer(), {
              description: 'How many: accepted (acceptable), refused, already-replayed, behind.',
            }),
            more: Type.Boolean({ description: 'Whether there are more to ask for.' }),
          }),
          ...PROBLEM_ANSWERS,
        },
      },
    },
    async ({ body }) => {
      const { lenient = false, dryRun = false, ...asked } = body;
      const options = { lenient, dryRun, now: Date.now() };
      const outcomes: Partial<Record<ReplayedRejected['kind'], number>> = {};
      let done = 0;
      for await (const { outcome } of replayAllRejected(services, readFilter(asked), options)) {
        outcomes[outcome.kind] = (outcomes[outcome.kind] ?? 0) + 1;
        if (++done >= MOST_AT_ONCE) break;
      }
      return { outcomes, more: done >= MOST_AT_ONCE };
    },
  );
};
