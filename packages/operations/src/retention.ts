import {
  allowRetention,
  findWorkspace,
  previewRetention,
  RETENTION_KINDS,
  type RetentionKind,
  retentionOf,
  retentionStandings,
  setRetention,
} from '@leadgate/store';
import { Type } from 'typebox';
import { operation, Refusal } from './operation.ts';
import { At, Nullable, Time, Uuid } from './schema.ts';

const Kind = Type.Unsafe<RetentionKind>(
  Type.Union(
    RETENTION_KINDS.map((kind) => Type.Literal(kind)),
    {
      description:
        'leads: since they were last touched, then erased as on request. submissions, rejected: since Postgres accepted them. consents: proofs of erased people, since the erasure; those of leads that are there stay.',
    },
  ),
);
const Days = Type.Integer({ minimum: 1, maximum: 36_500 });
const Subject = Type.Union([Type.Literal('submission'), Type.Literal('rejected_submission')]);

const Policies = Type.Array(
  Type.Object({
    kind: Kind,
    days: Nullable(Type.Integer({ description: 'Null: for good.' })),
    by: Type.Union(
      [Type.Literal('workspace'), Type.Literal('installation'), Type.Literal('nobody')],
      { description: 'Who says so.' },
    ),
    horizon: Nullable(At),
    wanted: Nullable(At),
  }),
);

const Standings = Type.Array(
  Type.Object({
    subject: Subject,
    horizon: Nullable(At),
    wanted: Nullable(At),
    allowed: Nullable(At),
  }),
);

/** For how long what is kept. */
export const retention = {
  standings: operation({
    name: 'retention.standings',
    id: 'listRetention',
    method: 'GET',
    path: '/retention',
    summary: 'List up to when submissions and refused bodies of all workspaces were let go',
    input: Type.Object({}),
    output: Standings,
    run: (_, { store }) => retentionStandings(store),
  }),

  allow: operation({
    name: 'retention.allow',
    id: 'allowRetention',
    method: 'POST',
    path: '/retention/:subject/allow',
    summary: 'Allow workers to let go all that was accepted before a time',
    description:
      'Asked for when that is more than a month beyond the last run. Workers let go no more than their days say.',
    role: 'administrator',
    subject: ['before'],
    input: Type.Object({ subject: Subject, before: Time }),
    output: Standings,
    run: async ({ subject, before }, { store }) => {
      await allowRetention(store, subject, new Date(before));
      return retentionStandings(store);
    },
  }),

  show: operation({
    name: 'retention.show',
    id: 'showRetention',
    method: 'GET',
    path: '/workspaces/:workspaceId/retention',
    summary: 'Show for how many days a workspace keeps each kind of data, and who says so',
    input: Type.Object({ workspaceId: Uuid }),
    output: Policies,
    run: ({ workspaceId }, { store }) => retentionOf(store, workspaceId),
  }),

  set: operation({
    name: 'retention.set',
    id: 'setRetention',
    method: 'POST',
    path: '/workspaces/:workspaceId/retention',
    summary: 'Say for how many days a workspace keeps a kind of data',
    description:
      'Workers let go what is older within the hour, some at a time. Days of null: as the installation does. Look at the preview first: it cannot be undone.',
    role: 'administrator',
    subject: ['kind', 'days'],
    changes: {
      before: async ({ workspaceId, kind }, { store }) =>
        (await retentionOf(store, String(workspaceId))).find((one) => one.kind === kind) ?? null,
      told: ['days'],
    },
    input: Type.Object({ workspaceId: Uuid, kind: Kind, days: Nullable(Days) }),
    output: Policies,
    run: async ({ workspaceId, kind, days }, { store }) => {
      if (kind === 'leads' && days !== null && store.erasureKey === null)
        return new Refusal(
          'unavailable',
          'Leads are erased: that needs ERASURE_KEY, for workers too.',
        );
      if ((await findWorkspace(store, workspaceId)) === null)
        return new Refusal('not-found', `No workspace has the id ${workspaceId}.`);
      await setRetention(store, { workspaceId, kind, days });
      return retentionOf(store, workspaceId);
    },
  }),

  preview: operation({
    name: 'retention.preview',
    id: 'previewRetention',
    method: 'GET',
    path: '/workspaces/:workspaceId/retention/preview',
    summary: 'Count what would go now if a workspace kept a kind of data for so many days',
    input: Type.Object({ workspaceId: Uuid, kind: Kind, days: Days }),
    output: Type.Object({ count: Type.Integer(), before: At }),
    run: ({ workspaceId, kind, days }, { store }) =>
      previewRetention(store, workspaceId, kind, days),
  }),
};
