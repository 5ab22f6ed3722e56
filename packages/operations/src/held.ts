import {
  decideHeld,
  heldCauses,
  type HeldDetails,
  listHeld,
  showHeld,
  submissionsThere,
} from '@leadgate/store';
import { Type } from 'typebox';
import { operation, refilling, Refusal, type Servers } from './operation.ts';
import { At, Limit, Nullable, open, Uuid } from './schema.ts';

const State = Type.Union([
  Type.Literal('held'),
  Type.Literal('released'),
  Type.Literal('discarded'),
]);

const summary = {
  heldId: Uuid,
  workspaceId: Uuid,
  linkId: Uuid,
  reason: Type.String(),
  state: State,
  at: At,
  decidedAt: Nullable(At),
  lead: open({}, 'What it sent, normalised.'),
};

export const HeldList = Type.Array(open(summary));

const unknown = (id: string): Refusal =>
  new Refusal(
    'not-found',
    `No held submission has the id ${id}; one that was posted just now may still wait in the queue.`,
  );

const decide = (verb: 'discard' | 'restore', to: 'discarded' | 'held', told: string) =>
  operation({
    name: `held.${verb}`,
    id: `${verb}Held`,
    method: 'POST',
    path: `/held/:heldId/${verb}`,
    summary: told,
    input: Type.Object({ heldId: Uuid }),
    output: Type.Object({ heldId: Uuid, state: State }),
    run: async ({ heldId }, { store }) => {
      const state = await decideHeld(store, heldId, to);
      if (state === null) return unknown(heldId);
      if (state === to) return { heldId, state };
      return new Refusal('conflict', 'It was released before, and is a submission now.');
    },
  });

/** Submissions that were caught as spam. */
export const held = {
  causes: operation({
    name: 'held.causes',
    id: 'listHeldCauses',
    method: 'GET',
    path: '/held/causes',
    summary: 'Why submissions are held, by link, those with most first',
    description: 'Of the newest 20,000 of a workspace, the 100 with most.',
    scope: 'workspaceId',
    input: Type.Object({ workspaceId: Uuid }),
    output: Type.Array(
      Type.Object({
        linkId: Uuid,
        linkLabel: Nullable(Type.String()),
        reason: Type.String(),
        total: Type.Integer(),
        newest: At,
      }),
    ),
    run: ({ workspaceId }, { store }) => heldCauses(store, workspaceId),
  }),

  list: operation({
    name: 'held.list',
    id: 'listHeld',
    method: 'GET',
    path: '/held',
    summary: 'List submissions that were caught as spam, newest first',
    scope: 'workspaceId',
    personal: 'list',
    input: Type.Object({
      workspaceId: Type.Optional(Uuid),
      linkId: Type.Optional(Uuid),
      reason: Type.Optional(Type.String()),
      state: Type.Optional(State),
      before: Type.Optional({ ...Uuid, description: 'The last id of the page before.' }),
      limit: Limit,
    }),
    output: HeldList,
    run: ({ limit = 50, ...filter }, { store }) => listHeld(store, filter, limit),
  }),

  show: operation({
    name: 'held.show',
    id: 'showHeld',
    method: 'GET',
    path: '/held/:heldId',
    summary: 'Show a held submission: what was sent, why it was caught, where it came from',
    personal: 'whole',
    input: Type.Object({ heldId: Uuid }),
    output: open({ ...summary, answeredLeadId: Uuid, submission: open({ body: Type.String() }) }),
    run: async ({ heldId }, { store }) => (await showHeld(store, heldId)) ?? unknown(heldId),
  }),

  release: operation({
    name: 'held.release',
    id: 'releaseHeld',
    method: 'POST',
    path: '/held/:heldId/release',
    summary: 'Take a held submission after all, under the id that was answered',
    input: Type.Object({ heldId: Uuid }),
    output: Type.Object({
      kind: Type.String({ description: 'released or already-released.' }),
      submissionId: Uuid,
      leadId: Type.Optional(Uuid),
      answeredLeadId: Type.Optional(Uuid),
    }),
    run: async ({ heldId }, { store, intake }) => {
      const outcome = await releaseHeld({ store, ...(await intake()) }, heldId);
      if (outcome.kind === 'unknown') return unknown(heldId);
      return outcome.kind === 'behind' ? refilling() : outcome;
    },
  }),

  discard: decide(
    'discard',
    'discarded',
    'Leave a held submission out; it is kept and can still be released',
  ),
  restore: decide('restore', 'held', 'Hold a discarded submission again'),
};

type ReleasedHeld =
  | {
      kind: 'released';
      submissionId: string;
      leadId: string;
      /** What its sender was told: another id of the lead if the lead was known. */
      answeredLeadId: string;
    }
  | { kind: 'already-released'; submissionId: string }
  /** Redis does not hold all of the workspace; a worker refills it. Try again. */
  | { kind: 'behind' }
  | { kind: 'unknown' };

/**
 * Takes a held submission after all, under the id that was answered: with the stamp of when it was
 * posted and an order of now. The lead id that was answered becomes the lead's, or stands for it
 * if the person was known. Doing it twice, also after a crash, makes one submission. Rejects when
 * Postgres or Redis fails.
 */
export async function releaseHeld(servers: Servers, heldId: string): Promise<ReleasedHeld> {
  const held = await showHeld(servers.store, heldId);
  if (held === null) return { kind: 'unknown' };
  const there = await submissionsThere(servers.store, [heldId]);
  if (held.state === 'released' || there.size > 0) {
    await decideHeld(servers.store, heldId, 'released');
    return { kind: 'already-released', submissionId: heldId };
  }
  return release(servers, held);
}

async function release(
  servers: Servers,
  { heldId, submission, answeredLeadId }: HeldDetails,
): Promise<ReleasedHeld> {
  const { accept, requestAgain } = await import('@leadgate/intake');
  const { held: _, ...request } = requestAgain(submission);
  const acceptance = await accept(servers, { ...request, offeredLeadId: answeredLeadId });
  if (acceptance.kind !== 'accepted') return { kind: 'behind' };
  // After the job stands: marked before, a crash in between would lose the lead.
  await decideHeld(servers.store, heldId, 'released');
  return { kind: 'released', submissionId: heldId, leadId: acceptance.leadId, answeredLeadId };
}
