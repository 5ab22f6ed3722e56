import { UTM_FIELDS } from '@leadgate/contract';
import { type PostChange } from '@leadgate/operations';
import type { SubmissionDetails } from '@leadgate/store';
import type { Command } from 'commander';
import { call } from '../call.ts';
import { addCommand, answer, answerList, type Context, type JsonOption } from '../command.ts';
import { findLinkNamed, namedIds } from '../named.ts';
import { consentTable, leadValues } from '../print/lead.ts';
import { bodyText } from '../print/showable.ts';
import { count, pairs, shortTime, table } from '../print/table.ts';
import { past, rate, readId, wholeNumber } from '../read.ts';
import { followRun } from './run.ts';

interface ListOptions extends JsonOption {
  workspace?: string;
  link?: string;
  lead?: string;
  before?: string;
  limit: number;
}

export function addSubmissionCommands(submission: Command, context: Context): void {
  addCommand(submission, 'list', {
    summary: 'List submissions, newest first.',
    examples: [
      'submission list --workspace "My agency" --limit 20',
      'submission list --lead 7c9e6679-7425-40de-944b-e07fc1f90ae7',
    ],
  })
    .option('--workspace <workspace>', 'only of this workspace: name or id')
    .option('--link <link>', 'only of this link: code, id or capture URL')
    .option('--lead <id>', 'only of this lead, under all its ids')
    .option('--before <submission>', 'only those before this one: the next page')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action((options: ListOptions) => list(context, options));

  addCommand(submission, 'show', {
    summary: 'Show a submission: what was sent, how it was read, where it came from.',
    examples: ['submission show 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', 'id of the submission (the answer’s Submission-Id)')
    .action(async (id: string, options: JsonOption) => {
      const { io } = context;
      const submissionId = readId(id, 'submission');
      const submission = await call(context, 'submission.show', { submissionId });
      answer(io, options, submission, () => submissionText(submission));
    });

  addCommand(submission, 'read-again', {
    summary: 'Read stored posts of a link under its present mapping.',
    details:
      'For a mapping that came late, or was mended. What a post says keeps its time; the person it names now is found or created, and ids that were answered stay good. Twice gives the same. It is a run: see leadgate run.',
    examples: [
      'submission read-again --link summer-sale --since 30d --dry-run',
      'submission read-again --link summer-sale --rate 100/s',
    ],
  })
    .requiredOption('--link <link>', 'of this link: code, id or capture URL')
    .option('--since <time>', 'accepted from then on: a time, a date, or how long ago (7d)', past)
    .option('--until <time>', 'accepted before then', past)
    .option('--rate <rate>', 'how many at most: 50/s, 600/m', rate)
    .option('--dry-run', 'say how many, and what they would say')
    .action((options: ReadAgainOptions) => readAgain(context, options));
}

interface ReadAgainOptions extends JsonOption {
  link: string;
  since?: Date;
  until?: Date;
  rate?: number;
  dryRun?: boolean;
}

const LISTED = 20;

async function readAgain(context: Context, options: ReadAgainOptions): Promise<void> {
  const { io, session } = context;
  const { since, until, rate: perSecond, dryRun } = options;
  const { id: linkId } = await findLinkNamed(session.store(), options.link);
  const asked = { linkId, since, until, perSecond, dryRun };
  const begun = await call(context, 'submission.readAgain', asked);
  if ('counts' in begun) {
    const { counts, changes } = begun;
    const listed = changes.slice(0, LISTED);
    answer(io, options, begun, () =>
      [
        `${count(counts.changed, 'post')} of ${counts.read} would say something else; of ${counts.unrecognised} nothing would be recognised.\n`,
        ...(listed.length === 0 ? [] : [`\n${changeTable(listed)}`]),
        ...(counts.changed > listed.length
          ? [`… and ${counts.changed - listed.length} more\n`]
          : []),
      ].join(''),
    );
    return;
  }
  const { progress } = await followRun(context, begun.id);
  const { read = 0, changed = 0, unrecognised = 0, tests = 0, left = 0, ended = 0 } = progress;
  answer(io, options, { run: begun.id, ...progress }, () =>
    read === 0
      ? 'No post fits.\n'
      : [
          `${count(changed, 'post')} of ${read} say something else now; ${count(ended, 'lead')} turned out to be others’.\n`,
          ...(unrecognised > 0 ? [`Of ${unrecognised} nothing is recognised.\n`] : []),
          ...(tests > 0 ? [`${tests} are tests of the sender, and stay as they are.\n`] : []),
          ...(left > 0
            ? [
                `${left} are of a lead of too many submissions: leadgate lead split takes it apart.\n`,
              ]
            : []),
        ].join(''),
  );
}

function changeTable(changes: readonly PostChange[]): string {
  return table(
    ['submission', 'filled', 'changed', 'emptied', 'names a person'],
    changes.map(({ submissionId, filled, changed, emptied, names }) => [
      ...[submissionId, filled.join(', '), changed.join(', '), emptied.join(', ')],
      names ? 'yes' : 'no',
    ]),
  );
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const { io } = context;
  const { lead, before, limit } = options;
  const submissions = await call(context, 'submission.list', {
    ...(await namedIds(context, options)),
    leadId: lead === undefined ? undefined : readId(lead, 'lead'),
    before: before === undefined ? undefined : readId(before, 'submission'),
    limit,
  });
  answerList(io, options, submissions, {
    none: 'No submission found.',
    head: ['accepted', 'submission', 'lead', 'from', 'link', 'notes'],
    row: ({ acceptedAt, submissionId, leadId, lead, linkLabel, linkId, notes }) => [
      shortTime(acceptedAt),
      submissionId,
      leadId,
      lead.name ?? lead.email ?? lead.telephone ?? null,
      linkLabel || linkId,
      notes.length,
    ],
    limit,
    next: ({ submissionId }) => `--before ${submissionId}`,
  });
}

function submissionText(submission: SubmissionDetails): string {
  const { lead, notes, identities, leadId, reservedFor, answeredLeadId } = submission;
  const head = pairs([
    ['Submission', submission.submissionId],
    ['Lead', leadId],
    ...(reservedFor === leadId ? [] : [['Reserved for', reservedFor] as const]),
    ...(answeredLeadId === null ? [] : [['Answered', answeredLeadId] as const]),
    ['Accepted', shortTime(submission.acceptedAt)],
    ...(submission.at === submission.acceptedAt
      ? []
      : [['Facts from', shortTime(submission.at)] as const]),
    ['Applied', shortTime(submission.appliedAt)],
    ['Source', submission.source],
    ['Link', submission.linkLabel || submission.linkId],
    ['Page', submission.page],
    ['Address', submission.address],
    ['User agent', submission.userAgent],
    ['Request', submission.requestId],
  ]);
  const values = [
    ...leadValues(lead),
    ...UTM_FIELDS.map((field) => [field, lead[field]] as const),
    ...Object.entries(lead.attribution ?? {}),
    ...Object.entries(lead.customFields ?? {}).map(
      ([field, value]) => [`customFields.${field}`, JSON.stringify(value)] as const,
    ),
  ].flatMap(([field, value]) => (value === undefined ? [] : [[field, value]]));
  const sections = [
    head,
    values.length === 0 ? '' : table(['field', 'read as'], values),
    identities.length === 0
      ? ''
      : table(
          ['identity', 'owner'],
          identities.map(([key, owner]) => [key, owner ?? 'nobody: the lead has all it may have']),
        ),
    consentTable(submission.consent === null ? [] : [submission.consent]),
    notes.length === 0
      ? ''
      : table(
          ['note', 'field', 'detail'],
          notes.map(({ code, field, detail }) => [code, field, detail ?? null]),
        ),
    bodyText('sent', submission),
  ];
  return sections.filter((section) => section !== '').join('\n');
}
