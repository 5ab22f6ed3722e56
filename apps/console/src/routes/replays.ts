import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { NOTE_CODES, type NoteCode } from '@leadgate/contract';
import { countReplay, replaySubmissions } from '@leadgate/operations';
import type { StoredFilter } from '@leadgate/store';
import { Type } from 'typebox';
import type { ApiServices } from '../services.ts';
import { idParams, PROBLEM_ANSWERS, Time, Uuid } from './route-schema.ts';

const Outcome = Type.Union([Type.Literal('created'), Type.Literal('updated')]);

/** Applies stored submissions again, under today's field definitions. */
export const replayRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (
  app,
  { store, producer },
) => {
  app.post(
    '/workspaces/:workspaceId/replays',
    {
      config: { action: 'submission.replay' },
      schema: {
        operationId: 'replaySubmissions',
        summary: 'Apply stored submissions again; always safe, live traffic goes first',
        params: idParams('workspaceId'),
        body: Type.Object(
          {
            linkId: Type.Optional(Uuid),
            leadId: Type.Optional(Uuid),
            since: Type.Optional(Time),
            until: Type.Optional(Time),
            outcome: Type.Optional(Outcome),
            note: Type.Optional(Type.Unsafe<NoteCode>(Type.Enum(Object.keys(NOTE_CODES)))),
            afterOrder: Type.Optional(
              Type.Number({ description: 'lastOrder of an answer, to go on after it.' }),
            ),
            perSecond: Type.Optional(Type.Integer({ minimum: 1 })),
            dryRun: Type.Optional(Type.Boolean({ description: 'Counts, and enqueues nothing.' })),
          },
          { additionalProperties: false },
        ),
        response: {
          200: Type.Object({
            submissions: Type.Integer({ description: 'Enqueued; with dryRun: that would be.' }),
            lastOrder: Type.Optional(Type.Number()),
          }),
          ...PROBLEM_ANSWERS,
        },
      },
    },
    async (request) => {
      const { workspaceId } = request.params;
      const { dryRun = false, perSecond, since, until, ...rest } = request.body;
      const filter: StoredFilter = {
        ...rest,
        ...(since !== undefined && { since: new Date(since) }),
        ...(until !== undefined && { until: new Date(until) }),
      };
      if (dryRun) return { submissions: await countReplay(store, workspaceId, filter) };
      const { enqueued, lastOrder } = await replaySubmissions(
        { store, producer },
        workspaceId,
        filter,
        {
          runId: `replay-${Date.now().toString(36)}`,
          ...(perSecond !== undefined && { perSecond }),
        },
      );
      return { submissions: enqueued, ...(lastOrder !== null && { lastOrder }) };
    },
  );
};
