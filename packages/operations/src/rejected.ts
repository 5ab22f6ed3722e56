import {
  dismissRejected,
  findWorkspace,
  listRejected,
  rejectedCauses,
  searchHeld,
  searchRejected,
  showRejected,
} from '@leadgate/store';
import { Type } from 'typebox';
import { HeldList } from './held.ts';
import {
  MendParameters,
  mendRejected,
  mendWork,
  replayAllRejected,
  replayRejected,
  tryToMend,
} from './rejected-bodies.ts';
import {
  invalid,
  operation,
  Refusal,
  refilling,
  type Connections,
  UNKNOWN_WORKSPACE,
} from './operation.ts';
import { runOf, RunView } from './runs.ts';
import { At, Limit, Nullable, momentsOf, open, Time, Uuid } from './schema.ts';

const FieldErrors = Type.Array(
  Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String() }),
);

const summary = {
  rejectedId: Uuid,
  workspaceId: Uuid,
  linkId: Uuid,
  linkLabel: Nullable(Type.String()),
  at: At,
  code: Type.String(),
  errors: FieldErrors,
  bodyType: Type.String(),
  bytes: Type.Integer(),
  mendedAt: Nullable(At),
  submissionId: Nullable(Uuid),
  replayedAt: Nullable(At),
  dismissedAt: Nullable(At),
};

const filter = {
  workspaceId: Type.Optional(Uuid),
  linkId: Type.Optional(Uuid),
  code: Type.Optional(Type.String({ description: 'Of the problem, or of one of its errors.' })),
  since: Type.Optional(Time),
  until: Type.Optional(Time),
  cause: Type.Optional(Type.String({ description: 'As /rejected/causes names it.' })),
};
const before = Type.Optional({ ...Uuid, description: 'The last id of the page before.' });

const replay = {
  lenient: Type.Optional(
    Type.Boolean({ description: 'Sets aside what is still wrong, instead of refusing for it.' }),
  ),
  dryRun: Type.Optional(Type.Boolean({ description: 'Says what would come of it.' })),
};

/** Replays of many answer after so many; what is left is asked for again. */
const MOST_AT_ONCE = 5_000;

const unknown = (id: string): Refusal =>
  new Refusal(
    'not-found',
    `No refused body has the id ${id}: it may be too old, or be moved to Postgres in a moment.`,
  );

/** The servers that taking a body needs. */
const serversOf = async ({ store, intake }: Connections) => ({ store, ...(await intake()) });

const ids = Type.Optional(Type.Array(Uuid, { minItems: 1, maxItems: 500 }));

const SAY_WHICH = {
  pointer: '',
  code: 'invalid',
  detail: 'Say which: by their ids, or by what they have in common.',
};

/** Bodies that were refused. */
export const rejected = {
  causes: operation({
    name: 'rejected.causes',
    id: 'listRejectedCauses',
    method: 'GET',
    path: '/rejected/causes',
    summary: 'Why bodies that wait for an operator were refused, by link, those with most first',
    description: 'Of the newest 20,000 of a workspace, the 100 with most.',
    scope: 'workspaceId',
    input: Type.Object({ workspaceId: Uuid }),
    output: Type.Array(
      Type.Object({
        cause: Type.String({ description: 'Names what was wrong, for the filter of other calls.' }),
        linkId: Uuid,
        linkLabel: Nullable(Type.String()),
        code: Type.String(),
        errors: Type.Array(Type.Object({ pointer: Type.String(), code: Type.String() })),
        total: Type.Integer(),
        oldest: At,
        newest: At,
      }),
    ),
    run: ({ workspaceId }, { store }) => rejectedCauses(store, workspaceId),
  }),

  search: operation({
    name: 'rejected.search',
    id: 'searchCaught',
    method: 'POST',
    path: '/workspaces/:workspaceId/search-refused',
    summary: 'Find refused and held posts by a text in what they sent: why a lead is missing',
    description: 'Of the newest 20,000 of each, the newest first.',
    recorded: false,
    personal: 'list',
    input: Type.Object({
      workspaceId: Uuid,
      q: Type.String({ minLength: 3, maxLength: 200 }),
      limit: Limit,
    }),
    output: Type.Object({ rejected: Type.Array(Type.Object(summary)), held: HeldList }),
    run: async ({ workspaceId, q, limit = 50 }, { store }) => {
      const text = { workspaceId, text: q.trim() };
      const [refused, held] = await Promise.all([
        searchRejected(store, text, limit),
        searchHeld(store, text, limit),
      ]);
      return { rejected: refused, held };
    },
  }),

  list: operation({
    name: 'rejected.list',
    id: 'listRejected',
    method: 'GET',
    path: '/rejected',
    summary: 'List refused bodies, newest first',
    scope: 'workspaceId',
    personal: 'list',
    input: Type.Object({
      ...filter,
      replayed: Type.Optional(
        Type.Boolean({ description: 'Those that were taken after all, or those that wait.' }),
      ),
      before,
      limit: Limit,
    }),
    output: Type.Array(Type.Object(summary)),
    run: ({ limit = 50, ...asked }, { store }) => listRejected(store, momentsOf(asked), limit),
  }),

  show: operation({
    name: 'rejected.show',
    id: 'showRejected',
    method: 'GET',
    path: '/rejected/:rejectedId',
    summary: 'Show a refused body, as sent and as mended',
    personal: 'whole',
    input: Type.Object({ rejectedId: Uuid }),
    output: open({
      ...summary,
      body: Type.String(),
      mended: Nullable(Type.Object({ body: Type.String(), bodyType: Type.String() })),
    }),
    run: async ({ rejectedId }, { store }) =>
      (await showRejected(store, rejectedId)) ?? unknown(rejectedId),
  }),

  mend: operation({
    name: 'rejected.mend',
    id: 'mendRejected',
    method: 'POST',
    path: '/rejected/:rejectedId/mend',
    summary: 'Mend a refused body: another one, or some fields of it; what was sent is kept',
    input: Type.Object({
      rejectedId: Uuid,
      set: Type.Optional(
        Type.Record(Type.String(), Type.String(), {
          description: 'Values by field (address.city); an empty one takes it out.',
        }),
      ),
      body: Type.Optional(Type.String({ description: 'Instead of set.' })),
      bodyType: Type.Optional(Type.Union([Type.Literal('json'), Type.Literal('form')])),
    }),
    output: Type.Object({
      kind: Type.Literal('mended'),
      body: Type.String(),
      bodyType: Type.String(),
      errors: FieldErrors,
    }),
    run: async ({ rejectedId, set, body, bodyType = 'json' }, { store }) => {
      if ((set === undefined) === (body === undefined)) return invalid([SAY_HOW]);
      const outcome = await mendRejected(
        store,
        rejectedId,
        body === undefined ? { kind: 'set', values: set ?? {} } : { kind: 'body', body, bodyType },
        { now: Date.now() },
      );
      switch (outcome.kind) {
        case 'unknown':
          return unknown(rejectedId);
        case 'already-replayed':
          return new Refusal(
            'conflict',
            `It was taken already, as submission ${outcome.submissionId}.`,
          );
        case 'unparsable':
          return new Refusal(
            'conflict',
            'It cannot be parsed, so no field of it can be set: put another body in its place.',
          );
        case 'mended':
          return outcome;
      }
    },
  }),

  mendAll: operation({
    name: 'rejected.mend-all',
    id: 'mendAllRejected',
    method: 'POST',
    path: '/workspaces/:workspaceId/rejected/mend',
    summary: 'Mend refused bodies that fit, all in the same way, and take them',
    description:
      'Begins a run, which goes on after this is answered: see /runs. What is refused again stays as it is. With dryRun: says how many would be taken.',
    subject: ['linkId', 'cause', 'lenient'],
    input: Type.Object({
      workspaceId: Uuid,
      ...MendParameters.properties,
      dryRun: Type.Optional(Type.Boolean({ description: 'Says what would come of it.' })),
    }),
    output: Type.Union([
      RunView,
      Type.Object({
        accepted: Type.Integer({ description: 'That would be taken.' }),
        refused: Type.Integer({ description: 'That would still be refused.' }),
        more: Type.Boolean({ description: 'Whether there are more, not tried.' }),
      }),
    ]),
    run: async ({ workspaceId, dryRun = false, ...parameters }, connections, { actor }) => {
      if ((await findWorkspace(connections.store, workspaceId)) === null) return UNKNOWN_WORKSPACE;
      if (dryRun) return tryToMend(await serversOf(connections), workspaceId, parameters);
      const asked = { kind: 'mend', workspaceId, parameters, begunBy: actor } as const;
      return runOf(await connections.runner.begin(connections, asked, mendWork));
    },
  }),

  dismiss: operation({
    name: 'rejected.dismiss',
    id: 'dismissRejected',
    method: 'POST',
    path: '/workspaces/:workspaceId/rejected/dismiss',
    summary: 'Say that nothing is to become of refused bodies: some, or all of a cause',
    description: 'They are kept as long as others, and can wait again.',
    subject: ['linkId', 'cause'],
    input: Type.Object({
      workspaceId: Uuid,
      rejectedIds: ids,
      linkId: filter.linkId,
      cause: filter.cause,
    }),
    output: Type.Object({ count: Type.Integer(), dismissedAt: At }),
    run: async ({ rejectedIds, ...which }, { store }) => {
      if (rejectedIds === undefined && which.cause === undefined) return invalid([SAY_WHICH]);
      const at = new Date();
      const those = { ...which, replayed: false, ...(rejectedIds && { ids: rejectedIds }) };
      return { count: await dismissRejected(store, those, at), dismissedAt: at };
    },
  }),

  restore: operation({
    name: 'rejected.restore',
    id: 'restoreRejected',
    method: 'POST',
    path: '/workspaces/:workspaceId/rejected/restore',
    summary: 'Have dismissed bodies wait again: some, or all that were dismissed at once',
    subject: ['dismissedAt'],
    input: Type.Object({ workspaceId: Uuid, rejectedIds: ids, dismissedAt: Type.Optional(Time) }),
    output: Type.Object({ count: Type.Integer() }),
    run: async ({ workspaceId, rejectedIds, dismissedAt }, { store }) => {
      if (rejectedIds === undefined && dismissedAt === undefined) return invalid([SAY_WHICH]);
      const dismissed = dismissedAt === undefined ? (true as const) : new Date(dismissedAt);
      const those = { workspaceId, dismissed, ...(rejectedIds && { ids: rejectedIds }) };
      return { count: await dismissRejected(store, those, null) };
    },
  }),

  replay: operation({
    name: 'rejected.replay',
    id: 'replayRejected',
    method: 'POST',
    path: '/rejected/:rejectedId/replay',
    summary: 'Take a refused body after all: its own time, an order of now',
    input: Type.Object({ rejectedId: Uuid, ...replay }),
    output: Type.Object({
      outcome: Type.String({ description: 'accepted, acceptable or already-replayed' }),
      submissionId: Uuid,
      leadId: Type.Optional(Uuid),
    }),
    run: async ({ rejectedId, ...options }, connections) => {
      const now = Date.now();
      const outcome = await replayRejected(await serversOf(connections), rejectedId, {
        ...options,
        now,
      });
      if (outcome.kind === 'unknown') return unknown(rejectedId);
      if (outcome.kind === 'behind') return refilling();
      if (outcome.kind === 'refused') return invalid(outcome.errors);
      const { kind, ...ids } = outcome;
      return { outcome: kind, ...ids };
    },
  }),

  replayAll: operation({
    name: 'rejected.replay-all',
    id: 'replayAllRejected',
    method: 'POST',
    path: '/rejected/replay',
    summary: 'Take all refused bodies that fit and are acceptable now',
    scope: 'workspaceId',
    subject: ['workspaceId', 'linkId', 'code', 'since', 'until', 'lenient'],
    input: Type.Object({ ...filter, before, ...replay }),
    output: Type.Object({
      outcomes: Type.Record(Type.String(), Type.Integer(), {
        description: 'How many: accepted (acceptable), refused, already-replayed.',
      }),
      more: Type.Boolean({ description: 'Whether there are more to ask for.' }),
      last: Type.Optional({ ...Uuid, description: 'To go on before it.' }),
    }),
    run: async ({ lenient = false, dryRun = false, ...asked }, connections) => {
      const options = { lenient, dryRun, now: Date.now() };
      const servers = await serversOf(connections);
      const outcomes: Record<string, number> = {};
      let done = 0;
      for await (const one of replayAllRejected(servers, momentsOf(asked), options)) {
        const { kind } = one.outcome;
        if (kind === 'behind') return refilling();
        outcomes[kind] = (outcomes[kind] ?? 0) + 1;
        if (++done >= MOST_AT_ONCE) return { outcomes, more: true, last: one.rejectedId };
      }
      return { outcomes, more: false };
    },
  }),
};

const SAY_HOW = {
  pointer: '',
  code: 'invalid',
  detail: 'Say how to mend it: by fields (set), or by another body.',
};
