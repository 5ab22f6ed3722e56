import {
  findWorkspace,
  linkEntries,
  listSubmissions,
  showLead,
  showSubmission,
} from '@leadgate/store';
import { Type } from 'typebox';
import { operation, Refusal, UNKNOWN_WORKSPACE } from './operation.ts';
import {
  filterOf,
  MOST_CHANGES,
  previewReplay,
  ReplayParameters,
  replayWork,
} from './replay/replay-submissions.ts';
import {
  filterOfPosts,
  MOST_CHANGES as MOST_POSTS,
  previewReadAgain,
  ReadAgainParameters,
  readAgainWork,
} from './replay/read-again.ts';
import { runOf, RunView } from './runs.ts';
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

const Preview = Type.Object({
  submissions: Type.Integer({ description: 'That would be enqueued.' }),
  leads: Type.Integer({ description: 'Whose custom fields would change.' }),
  changes: Type.Array(
    Type.Object({
      leadId: Uuid,
      submissionId: Uuid,
      filled: Type.Array(Type.String(), { description: 'Fields, by name.' }),
      changed: Type.Array(Type.String()),
      emptied: Type.Array(Type.String()),
    }),
    { description: `The first ${MOST_CHANGES} of them.` },
  ),
});

const names = (what: string) => Type.Array(Type.String(), { description: what });

const ReadAgainPreview = Type.Object({
  counts: Type.Object({
    read: Type.Integer({ description: 'Posts that were looked at.' }),
    changed: Type.Integer({ description: 'That would say something else.' }),
    unrecognised: Type.Integer({ description: 'Of which nothing would be recognised either.' }),
    tests: Type.Integer({ description: 'Tests of the sender: they would stay as they are.' }),
  }),
  changes: Type.Array(
    Type.Object({
      submissionId: Uuid,
      leadId: Uuid,
      filled: names('Fields that it would say, and did not, such as email or customFields.plan.'),
      changed: names('Fields that it would say otherwise.'),
      emptied: names('Fields that it would say no more.'),
      names: Type.Boolean({ description: 'It would name a person by an email or telephone.' }),
    }),
    { description: `The first ${MOST_POSTS} of them.` },
  ),
});

export const submission = {
  list: operation({
    name: 'submission.list',
    id: 'listSubmissions',
    method: 'GET',
    path: '/submissions',
    summary: 'List applied submissions, newest first',
    scope: 'workspaceId',
    personal: 'list',
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
    personal: 'whole',
    input: Type.Object({ submissionId: Uuid }),
    output: open({ ...summary, body: Type.String() }),
    run: async ({ submissionId }, { store }) =>
      (await showSubmission(store, submissionId)) ??
      new Refusal(
        'not-found',
        `No submission ${submissionId} has been applied; if it was accepted just now its job may still wait.`,
      ),
  }),
  replay: operation({
    name: 'submission.replay',
    id: 'replaySubmissions',
    method: 'POST',
    path: '/workspaces/:workspaceId/replays',
    summary: 'Apply stored submissions again; always safe, live traffic goes first',
    description:
      'Begins a run, which goes on after this is answered: see /runs. With dryRun: says what would change.',
    subject: ['linkId', 'leadId', 'since', 'until', 'outcome', 'note'],
    input: Type.Object({
      workspaceId: Uuid,
      ...ReplayParameters.properties,
      dryRun: Type.Optional(
        Type.Boolean({ description: 'Says what would change, and enqueues nothing.' }),
      ),
    }),
    output: Type.Union([RunView, Preview]),
    run: async ({ workspaceId, dryRun = false, ...parameters }, connections, { actor, signal }) => {
      const { store, runner } = connections;
      if ((await findWorkspace(store, workspaceId)) === null) return UNKNOWN_WORKSPACE;
      if (dryRun) return previewReplay(store, workspaceId, filterOf(parameters), signal);
      const asked = { kind: 'replay', workspaceId, parameters, begunBy: actor } as const;
      return runOf(await runner.begin(connections, asked, replayWork));
    },
  }),

  readAgain: operation({
    name: 'submission.read-again',
    id: 'readAgain',
    method: 'POST',
    path: '/links/:linkId/read-again',
    summary: 'Read stored posts of a link under its present mapping; twice gives the same',
    description:
      'Begins a run, which goes on after this is answered: see /runs. What a post says keeps its time; the person it names now is found or created; ids that were answered stay good. With dryRun: says what would change.',
    subject: ['since', 'until'],
    input: Type.Object({
      ...ReadAgainParameters.properties,
      dryRun: Type.Optional(
        Type.Boolean({ description: 'Says what would change, and changes nothing.' }),
      ),
    }),
    output: Type.Union([RunView, ReadAgainPreview]),
    run: async ({ dryRun = false, ...parameters }, connections, { actor, signal }) => {
      const { store, runner } = connections;
      const [entry] = await linkEntries(store, parameters.linkId);
      if (entry === undefined) return new Refusal('not-found', 'There is no such link.');
      const { link } = entry;
      if (dryRun)
        return previewReadAgain(store, link, filterOfPosts(parameters, new Date()), signal);
      const { workspaceId } = link;
      const asked = { kind: 'read-again', workspaceId, parameters, begunBy: actor } as const;
      return runOf(await runner.begin(connections, asked, readAgainWork));
    },
  }),
};
