import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { releaseHeld } from '@leadgate/operations';
import { decideHeld, listHeld, type HeldSummary } from '@leadgate/store';
import { Type } from 'typebox';
import { actorOf } from '../auth/actor.ts';
import { forRole } from '../mask/mask.ts';
import { ProblemError } from '../problem.ts';
import type { ApiServices } from '../services.ts';
import {
  HeldStateSchema,
  idParams,
  Limit,
  Nullable,
  open,
  PROBLEM_ANSWERS,
  Time,
  Uuid,
} from './route-schema.ts';

const HeldView = open({
  heldId: Uuid,
  workspaceId: Uuid,
  linkId: Uuid,
  reason: Type.String(),
  state: HeldStateSchema,
  at: Time,
  decidedAt: Nullable(Time),
  lead: open({}, 'What it sent, normalised.'),
});

const view = ({ decidedAt, ...held }: HeldSummary) => ({
  ...held,
  decidedAt: decidedAt?.toISOString() ?? null,
});

/** Submissions caught as spam: list, release, discard. */
export const heldRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (app, services) => {
  const { store } = services;
  app.get(
    '/held',
    {
      schema: {
        operationId: 'listHeld',
        summary: 'List submissions that were caught as spam, newest first',
        querystring: Type.Object({
          workspaceId: Type.Optional(Uuid),
          linkId: Type.Optional(Uuid),
          state: Type.Optional(HeldStateSchema),
          before: Type.Optional(Type.String({ description: 'The last id of the page before.' })),
          limit: Limit,
        }),
        response: { 200: Type.Array(HeldView), ...PROBLEM_ANSWERS },
      },
    },
    async (request) => {
      const { limit = 50, ...filter } = request.query;
      const held = (await listHeld(store, filter, limit)).map(view);
      return forRole(actorOf(request).role, held);
    },
  );

  app.post(
    '/held/:heldId/release',
    {
      config: { action: 'held.release' },
      schema: {
        operationId: 'releaseHeld',
        summary: 'Take a held submission after all, under the id that was answered',
        params: idParams('heldId'),
        response: { 200: Type.Object({ submissionId: Uuid }), ...PROBLEM_ANSWERS },
      },
    },
    async ({ params }) => {
      const outcome = await releaseHeld(services, params.heldId);
      if (outcome.kind === 'unknown') throw new ProblemError('not-found');
      if (outcome.kind === 'behind')
        throw new ProblemError('unavailable', { detail: 'Redis is being refilled; try again.' });
      return { submissionId: outcome.submissionId };
    },
  );

  app.post(
    '/held/:heldId/discard',
    {
      config: { action: 'held.discard' },
      schema: {
        operationId: 'discardHeld',
        summary: 'Leave a held submission out; it is kept and can still be released',
        params: idParams('heldId'),
        response: { 200: Type.Object({ state: HeldStateSchema }), ...PROBLEM_ANSWERS },
      },
    },
    async ({ params }) => {
      const state = await decideHeld(store, params.heldId, 'discarded');
      if (state === null) throw new ProblemError('not-found');
      return { state };
    },
  );
};
