import { ALARM_KINDS, findLink, listAlarms, quietLink } from '@leadgate/store';
import { Type } from 'typebox';
import { NOTHING, operation, Refusal } from './operation.ts';
import { At, Limit, Nullable, Time, Uuid } from './schema.ts';

/** What somebody should look at: opened and closed by workers. */
export const alarm = {
  list: operation({
    name: 'alarm.list',
    id: 'listAlarms',
    method: 'GET',
    path: '/alarms',
    summary: 'List alarms: those that are open, or all of them, the newest first',
    description:
      'silence: a link that usually has posts has none. drift: its new posts lack a field that nearly all had, or nearly all have a key that is no field; GET /api/links/{linkId}/suggestion proposes a mapping. refusals: most posts of a link are refused of late. ledger: something that was accepted is missing. deliveries: an endpoint takes nothing, or is disabled. queue: leads wait for more than five minutes. Without a workspace, those of all.',
    scope: 'workspaceId',
    input: Type.Object({
      workspaceId: Type.Optional(Uuid),
      all: Type.Optional(Type.Boolean({ description: 'Those that are over, too.' })),
      limit: Limit,
    }),
    output: Type.Array(
      Type.Object({
        id: Uuid,
        kind: Type.Enum([...ALARM_KINDS]),
        subject: Type.String({ description: 'The id of the link or endpoint, or queue.' }),
        label: Type.String({ description: 'What that is called.' }),
        workspaceId: Nullable(Uuid),
        facts: Type.Record(Type.String(), Type.Union([Type.Number(), Type.String()])),
        openedAt: At,
        closedAt: Nullable(At),
      }),
    ),
    run: ({ workspaceId, all, limit = 50 }, { store }) =>
      listAlarms(
        store,
        {
          ...(workspaceId !== undefined && { workspaceId }),
          ...(all !== undefined && { all }),
        },
        limit,
      ),
  }),

  quiet: operation({
    name: 'link.quiet',
    id: 'quietLink',
    method: 'POST',
    path: '/links/:linkId/quiet',
    summary: 'Have a link be quiet until a moment: its silence, drift and refusals open no alarm',
    subject: ['until'],
    input: Type.Object({ linkId: Uuid, until: Time }),
    output: NOTHING,
    run: async ({ linkId, until }, { store }) => {
      if ((await findLink(store, linkId)) === null)
        return new Refusal('not-found', 'There is no such link.');
      await quietLink(store, linkId, new Date(until));
      return null;
    },
  }),
};
