import { listSubmissions, showLead, showSubmission } from '@leadgate/store';
import { Type } from 'typebox';
import { operation, Refusal } from './operation.ts';
import { At, Limit, open, Uuid } from './schema.ts';

const summary = {
  submissionId: Uuid,
  workspaceId: Uuid,
  linkId: Uuid,
  leadId: Uuid,
  acceptedAt: At,
  at: At,
  source: Type.String(),
  lead: open({}, 'What it sent, normalised.'),
  notes: Type.Array(open({ field: Type.String(), code: Type.String() })),
};

/** Submissions that were applied. */
export const submission = {
  list: operation({
    name: 'submission.list',
    id: 'listSubmissions',
    method: 'GET',
    path: '/submissions',
    summary: 'List applied submissions, newest first',
    scope: 'workspaceId',
    personal: true,
    input: Type.Object({
      workspaceId: Type.Optional(Uuid),
      linkId: Type.Optional(Uuid),
      leadId: Type.Optional(Uuid),
      before: Type.Optional({ ...Uuid, description: 'The last id of the page before.' }),
      limit: Limit,
    }),
    output: Type.Array(open(summary)),
    run: async ({ limit = 50, ...filter }, { store }) => {
      const { leadId } = filter;
      if (leadId !== undefined && (await showLead(store, leadId, { historyLimit: 1 })) === null)
        return new Refusal('not-found', `No lead has the id ${leadId}.`);
      return listSubmissions(store, filter, limit);
    },
  }),

  show: operation({
    name: 'submission.show',
    id: 'showSubmission',
    method: 'GET',
    path: '/submissions/:submissionId',
    summary: 'Show a submission with its body as sent',
    scope: 'submissionId',
    personal: true,
    input: Type.Object({ submissionId: Uuid }),
    output: open({ ...summary, body: Type.String() }),
    run: async ({ submissionId }, { store }) =>
      (await showSubmission(store, submissionId)) ??
      new Refusal(
        'not-found',
        `No submission ${submissionId} has been applied; if it was accepted just now its job may still wait.`,
      ),
  }),
};
