import { listAudit, listReads } from '@leadgate/store';
import { Type } from 'typebox';
import { operation } from './operation.ts';
import { At, Limit, momentsOf, Nullable, Time, Uuid } from './schema.ts';

/** Of which actor, from when on, and a page of it, newest first. */
const PAGE = {
  actor: Type.Optional(Type.String({ description: 'The whole name.' })),
  since: Type.Optional(Time),
  before: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'The last id of the page before.',
    }),
  ),
  limit: Limit,
};

/** Who did what, when, to what. */
export const audit = {
  list: operation({
    name: 'audit.list',
    id: 'listAudit',
    method: 'GET',
    path: '/audit',
    summary: 'List what was done, newest first',
    role: 'administrator',
    input: Type.Object({
      action: Type.Optional(
        Type.String({ description: 'Its whole name (link.disable), or its noun (link).' }),
      ),
      ...PAGE,
    }),
    output: Type.Array(
      Type.Object({
        id: Type.Integer(),
        at: At,
        actor: Type.Object({ kind: Type.String(), name: Type.String() }),
        action: Type.String(),
        subject: Type.Record(Type.String(), Type.String()),
        outcome: Nullable(Type.String({ description: 'Null: begun, and not known how it ended.' })),
        requestId: Nullable(Type.String()),
      }),
    ),
    run: ({ limit = 50, ...page }, { store }) => listAudit(store, { ...momentsOf(page), limit }),
  }),

  reads: operation({
    name: 'audit.reads',
    id: 'listReads',
    method: 'GET',
    path: '/reads',
    summary: 'List who read what about people, unmasked, newest first',
    description: 'Finds, lists, single leads, exports and downloads, by every door.',
    role: 'administrator',
    // Who read a person is asked after they are gone, too.
    afterErasure: true,
    input: Type.Object({
      leadId: Type.Optional(Uuid),
      ...PAGE,
    }),
    output: Type.Array(
      Type.Object({
        id: Type.Integer(),
        at: At,
        actor: Type.Object({ kind: Type.String(), name: Type.String() }),
        action: Type.String(),
        workspaceId: Nullable(Uuid),
        leadIds: Type.Array(Uuid),
        requestId: Nullable(Type.String()),
      }),
    ),
    run: ({ limit = 50, ...page }, { store }) => listReads(store, { ...momentsOf(page), limit }),
  }),
};
