import { PROBLEM_ANSWERS } from '../problem.ts';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { NOTE_CODES, type NoteCode } from '@leadgate/contract';
import {
  changesOfReplay,
  countReplay,
  type CustomFieldChange,
  replaySubmissions,
  Time,
  Uuid,
} from '@leadgate/operations';
import type { Store, StoredFilter } from '@leadgate/store';
import { Type } from 'typebox';
import { idParams } from '../validate.ts';
import type { ApiServices } from '../services.ts';

const Outcome = Type.Union([Type.Literal('created'), Type.Literal('updated')]);

const Change = Type.Object({
  leadId: Uuid,
  submissionId: Uuid,
  filled: Type.Array(Type.String(), { description: 'Fields, by name.' }),
  changed: Type.Array(Type.String()),
  emptied: Type.Array(Type.String()),
});
const MOST_CHANGES = 100;

/** Applies stored submissions again, under today's field definitions. */
export const replayRoutes: FastifyPluginAsyncTypebox<ApiServices> = async (
  app,
  { store, producer },
) => {
  app.post(
    '/workspaces/:workspaceId/replays',
    {
      config: {
        action: 'submission.replay',
        subject: ['linkId', 'leadId', 'since', 'until', 'outcome', 'note', 'dryRun'],
      },
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
            dryRun: Type.Optional(
              Type.Boolean({ description: 'Says what would change, and enqueues nothing.' }),
            ),
          },
          { additionalProperties: false },
        ),
        response: {
          200: Type.Object({
            submissions: Type.Integer({ description: 'Enqueued; with dryRun: that would be.' }),
            lastOrder: Type.Optional(Type.Number()),
            leads: Type.Optional(
              Type.Integer({ description: 'With dryRun: whose custom fields would change.' }),
            ),
            changes: Type.Optional(
              Type.Array(Change, { description: `The first ${MOST_CHANGES} of them.` }),
            ),
          }),
          ...PROBLEM_ANSWERS,
        },
      },
    },
    async (request, reply) => {
      const { workspaceId } = request.params;
      const { dryRun = false, perSecond, since, until, ...rest } = request.body;
      const filter: StoredFilter = {
        ...rest,
        ...(since !== undefined && { since: new Date(since) }),
        ...(until !== undefined && { until: new Date(until) }),
      };
      // Whoever went away can say where to go on; nothing is enqueued for nobody.
      const gone = new AbortController();
      reply.raw.once('close', () => gone.abort());
      if (dryRun) return changesOf(store, workspaceId, filter, gone.signal);
      const { enqueued, lastOrder } = await replaySubmissions(
        { store, producer },
        workspaceId,
        filter,
        {
          runId: `replay-${Date.now().toString(36)}`,
          signal: gone.signal,
          ...(perSecond !== undefined && { perSecond }),
        },
      );
      return { submissions: enqueued, ...(lastOrder !== null && { lastOrder }) };
    },
  );
};

async function changesOf(
  store: Store,
  workspaceId: string,
  filter: StoredFilter,
  signal: AbortSignal,
) {
  const changes: CustomFieldChange[] = [];
  let leads = 0;
  for await (const change of changesOfReplay(store, workspaceId, filter)) {
    if (signal.aborted) break;
    leads += 1;
    if (changes.length < MOST_CHANGES) changes.push(change);
  }
  return { submissions: await countReplay(store, workspaceId, filter), leads, changes };
}
