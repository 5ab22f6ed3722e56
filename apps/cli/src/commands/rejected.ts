import type { FieldError } from '@leadgate/contract';
import { type Refusal } from '@leadgate/operations';
import type { RejectedDetails, RejectedSummary } from '@leadgate/store';
import type { Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { call } from '../call.ts';
import {
  addCommand,
  answer,
  answerList,
  collect,
  type Context,
  type JsonOption,
} from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { namedIds } from '../named.ts';
import { bodyText, showable } from '../print/showable.ts';
import { count, pairs, shortTime, table } from '../print/table.ts';
import { past, readId, wholeNumber } from '../read.ts';

interface FilterOptions extends JsonOption {
  workspace?: string;
  link?: string;
  code?: string;
  since?: Date;
  until?: Date;
}

interface ListOptions extends FilterOptions {
  replayed?: boolean;
  before?: string;
  limit: number;
}

interface MendOptions extends JsonOption {
  set?: string[];
  body?: string;
}

interface ReplayOptions extends FilterOptions {
  all?: boolean;
  lenient?: boolean;
  dryRun?: boolean;
}

const ID = 'id of the refused body: the Submission-Id of its answer';

export function addRejectedCommands(rejected: Command, context: Context): void {
  addFilter(
    addCommand(rejected, 'list', {
      summary: 'List refused bodies, newest first, with what was wrong.',
      examples: ['rejected list --link summer-sale --since 2h', 'rejected list --code email'],
    }),
  )
    .option('--replayed', 'only those that were taken after all')
    .option('--no-replayed', 'only those that wait')
    .option('--before <id>', 'only those before this one: the next page')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action((options: ListOptions) => list(context, options));

  addCommand(rejected, 'show', {
    summary: 'Show a refused body, what was wrong with it, and where it came from.',
    examples: ['rejected show 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action(async (id: string, options: JsonOption) => {
      const rejectedId = readId(id, 'refused body');
      const rejected = await call(context, 'rejected.show', { rejectedId });
      answer(context.io, options, rejected, () => rejectedText(rejected));
    });

  addCommand(rejected, 'mend', {
    summary: 'Mend a refused body. What was sent stays beside it.',
    details: 'It becomes a lead once it is replayed.',
    examples: [
      'rejected mend 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52 --set email=ana@example.com --set address.city=Recife',
      'rejected mend 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52 --body mended.json',
    ],
  })
    .argument('<id>', ID)
    .option(
      '--set <field=value>',
      'set a field (address.city, customFields.plan within another); without a value, take it out; may be repeated',
      collect,
    )
    .option('--body <file>', 'put the JSON of a file, or of - for the standard input, in its place')
    .action(async (id: string, options: MendOptions) => {
      const rejectedId = readId(id, 'refused body');
      const changes = await readChanges(context.io.cwd, options);
      const outcome = await call(context, 'rejected.mend', { rejectedId, ...changes });
      answer(context.io, options, outcome, () =>
        outcome.errors.length === 0
          ? `Mended; to take it: leadgate rejected replay ${rejectedId}\n`
          : `Kept, and still to be refused:\n${errorTable(outcome.errors)}`,
      );
    });

  addCommand(rejected, 'dismiss', {
    summary: 'Say that nothing is to become of a refused body. It is kept as long as others.',
    examples: ['rejected dismiss 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action((id: string, options: JsonOption) => decide(context, 'dismiss', id, options));

  addCommand(rejected, 'restore', {
    summary: 'Have a dismissed body wait again.',
    examples: ['rejected restore 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action((id: string, options: JsonOption) => decide(context, 'restore', id, options));

  addFilter(
    addCommand(rejected, 'replay', {
      summary: 'Take refused bodies after all, as mended: one, or all that fit.',
      details:
        'They keep the time they were sent at: what leads have heard since is not overwritten. What is still wrong stays refused. Twice changes nothing.',
      examples: [
        'rejected replay 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52',
        'rejected replay --all --link summer-sale --lenient --dry-run',
      ],
    }),
  )
    .argument('[id]', ID)
    .option('--all', 'all that fit the filters and have not been replayed')
    .option('--lenient', 'set aside fields that are still wrong, with a note')
    .option('--dry-run', 'say what would come of it, and change nothing')
    .action(async (id: string | undefined, options: ReplayOptions) => {
      if ((id === undefined) === (options.all !== true))
        throw new Failure('Say what to take: the id of one, or --all with filters.', EXIT.usage);
      return id === undefined ? replayAll(context, options) : replayOne(context, id, options);
    });
}

function addFilter(command: Command): Command {
  return command
    .option('--workspace <workspace>', 'only of this workspace: name or id')
    .option('--link <link>', 'only of this link: code, id or capture URL')
    .option('--code <code>', 'only with this code, of the answer or of one of its errors')
    .option('--since <time>', 'only from then on: a time, a date, or how long ago (2h)', past)
    .option('--until <time>', 'only before then', past);
}

async function filterOf(context: Context, options: FilterOptions) {
  const { code, since, until } = options;
  return { ...(await namedIds(context, options)), code, since, until };
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const { io } = context;
  const { replayed, before, limit } = options;
  const rejected = await call(context, 'rejected.list', {
    ...(await filterOf(context, options)),
    replayed,
    before: before === undefined ? undefined : readId(before, 'refused body'),
    limit,
  });
  answerList(io, options, rejected, {
    none: 'No refused body found.',
    head: ['refused', 'id', 'link', 'wrong', 'state'],
    row: (row) => [
      shortTime(row.at),
      row.rejectedId,
      row.linkLabel || row.linkId,
      row.errors.map(({ pointer, code }) => `${pointer} ${code}`.trim()).join(', ') || row.code,
      stateOf(row),
    ],
    limit,
    next: ({ rejectedId }) => `--before ${rejectedId}`,
  });
}

async function decide(
  context: Context,
  verb: 'dismiss' | 'restore',
  id: string,
  options: JsonOption,
): Promise<void> {
  const rejectedId = readId(id, 'refused body');
  const { workspaceId } = await call(context, 'rejected.show', { rejectedId });
  const which = { workspaceId, rejectedIds: [rejectedId] };
  const done = await call(context, `rejected.${verb}`, which);
  const told =
    verb === 'dismiss'
      ? ['Dismissed.', 'It was taken, or dismissed before.']
      : ['It waits again.', 'It was not dismissed.'];
  answer(context.io, options, done, () => `${told[done.count === 1 ? 0 : 1]}\n`);
}

async function readChanges(
  cwd: string,
  { set, body }: MendOptions,
): Promise<{ set: Record<string, string> } | { body: string }> {
  if ((set === undefined) === (body === undefined))
    throw new Failure('Say how to mend it: with --set field=value, or with --body.', EXIT.usage);
  if (body === undefined) return { set: Object.fromEntries((set ?? []).map(pair)) };
  return {
    body: await (body === '-' ? readText(process.stdin) : readFile(resolve(cwd, body), 'utf8')),
  };
}

function pair(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) throw new Failure(`"${showable(text)}" is not of the form field=value.`, EXIT.usage);
  return [text.slice(0, at).trim(), text.slice(at + 1)];
}

async function replayOne(context: Context, id: string, options: ReplayOptions): Promise<void> {
  const { io } = context;
  const { lenient, dryRun } = options;
  const rejectedId = readId(id, 'refused body');
  const words = {
    invalid: (refusal: Refusal) => {
      answer(io, options, refusal, () => errorTable(refusal.errors ?? []));
      return new Failure('It is still to be refused: mend it first.');
    },
  };
  const outcome = await call(
    context,
    'rejected.replay',
    { rejectedId, lenient, dryRun },
    { words },
  );
  answer(io, options, outcome, () => {
    switch (outcome.outcome) {
      case 'accepted':
        return 'leadId' in outcome
          ? `Taken, as submission ${outcome.submissionId} of lead ${outcome.leadId}.\n`
          : '';
      case 'acceptable':
        return 'It would be taken.\n';
      case 'already-replayed':
        return `It was taken before, as submission ${outcome.submissionId}.\n`;
    }
  });
}

async function replayAll(context: Context, options: ReplayOptions): Promise<void> {
  const { lenient, dryRun } = options;
  const filter = await filterOf(context, options);
  const counts: Record<string, number> = {};
  let before: string | undefined;
  do {
    const input = { ...filter, lenient, dryRun, before };
    const { outcomes, last } = await call(context, 'rejected.replayAll', input);
    for (const [kind, n] of Object.entries(outcomes)) counts[kind] = (counts[kind] ?? 0) + n;
    before = last;
  } while (before !== undefined);
  const { accepted = 0, acceptable = 0, refused = 0 } = counts;
  const taken =
    dryRun === true
      ? `${count(acceptable, 'body', 'bodies')} would be taken`
      : `${count(accepted, 'body', 'bodies')} taken`;
  answer(context.io, options, counts, () => `${taken}, ${refused} still refused.\n`);
}

function stateOf({ submissionId, mendedAt, dismissedAt }: RejectedSummary): string {
  if (submissionId !== null) return 'replayed';
  if (dismissedAt !== null) return 'dismissed';
  return mendedAt === null ? 'as sent' : 'mended';
}

function errorTable(errors: readonly FieldError[]): string {
  return table(
    ['field', 'code', 'detail'],
    errors.map(({ pointer, code, detail }) => [pointer || '(body)', code, detail]),
  );
}

function rejectedText(rejected: RejectedDetails): string {
  const { mended } = rejected;
  return [
    pairs([
      ['Refused', shortTime(rejected.at)],
      ['Id', rejected.rejectedId],
      ['Code', rejected.code],
      ['Link', rejected.linkLabel || rejected.linkId],
      ['Page', rejected.page],
      ['Address', rejected.address],
      ['User agent', rejected.userAgent],
      ['State', stateOf(rejected)],
      ...(rejected.submissionId === null ? [] : [['Submission', rejected.submissionId] as const]),
    ]),
    errorTable(rejected.errors),
    bodyText('sent', rejected),
    ...(mended === null ? [] : [bodyText('mended', mended)]),
  ].join('\n');
}
