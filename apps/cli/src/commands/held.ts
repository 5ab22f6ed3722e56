import { HELD_REASONS } from '@leadgate/contract';
import type { HeldDetails, HeldState } from '@leadgate/store';
import { type Command, Option } from 'commander';
import { call } from '../call.ts';
import { addCommand, answer, answerList, type Context, type JsonOption } from '../command.ts';
import { namedIds } from '../named.ts';
import { leadValues } from '../print/lead.ts';
import { bodyText } from '../print/showable.ts';
import { pairs, shortTime, table } from '../print/table.ts';
import { readId, wholeNumber } from '../read.ts';

interface ListOptions extends JsonOption {
  workspace?: string;
  link?: string;
  state: HeldState;
  before?: string;
  limit: number;
}

const ID = 'id of the held submission: the Submission-Id of its answer';

export function addHeldCommands(held: Command, context: Context): void {
  addCommand(held, 'list', {
    summary: 'List submissions that were caught as spam, newest first.',
    examples: ['held list --workspace "My agency"', 'held list --state discarded'],
  })
    .option('--workspace <workspace>', 'only of this workspace: name or id')
    .option('--link <link>', 'only of this link: code, id or capture URL')
    .addOption(
      new Option('--state <state>', 'held: those that wait for you')
        .choices(['held', 'released', 'discarded'])
        .default('held'),
    )
    .option('--before <id>', 'only those before this one: the next page')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action((options: ListOptions) => list(context, options));

  addCommand(held, 'show', {
    summary: 'Show a held submission: what was sent, why it was caught, where it came from.',
    examples: ['held show 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action(async (id: string, options: JsonOption) => {
      const heldId = readId(id, 'held submission');
      const held = await call(context, 'held.show', { heldId });
      answer(context.io, options, held, () => heldText(held));
    });

  addCommand(held, 'release', {
    summary: 'Take a held submission after all.',
    details:
      'It keeps the time it was posted at, and the lead id that was answered stands for its lead. Twice changes nothing.',
    examples: ['held release 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action(async (id: string, options: JsonOption) => {
      const heldId = readId(id, 'held submission');
      const outcome = await call(context, 'held.release', { heldId });
      answer(context.io, options, outcome, () =>
        outcome.kind === 'released'
          ? `Released, as submission ${outcome.submissionId} of lead ${outcome.leadId}.\n`
          : `It was released before, as submission ${outcome.submissionId}.\n`,
      );
    });

  addCommand(held, 'discard', {
    summary: 'Put a held submission aside as spam. It is kept, and can still be released.',
    examples: ['held discard 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action(async (id: string, options: JsonOption) => {
      const heldId = readId(id, 'held submission');
      const outcome = await call(context, 'held.discard', { heldId });
      answer(context.io, options, outcome, () => 'Discarded.\n');
    });

  addCommand(held, 'restore', {
    summary: 'Hold a discarded submission again.',
    examples: ['held restore 01997a3c-5b1e-7c11-9f0a-0d6c4b1f7a52'],
  })
    .argument('<id>', ID)
    .action(async (id: string, options: JsonOption) => {
      const heldId = readId(id, 'held submission');
      const outcome = await call(context, 'held.restore', { heldId });
      answer(context.io, options, outcome, () => 'Held again.\n');
    });
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const { io } = context;
  const { state, before, limit } = options;
  const held = await call(context, 'held.list', {
    ...(await namedIds(context, options)),
    state,
    before: before === undefined ? undefined : readId(before, 'held submission'),
    limit,
  });
  answerList(io, options, held, {
    none: 'No held submission found.',
    head: ['posted', 'id', 'from', 'why', 'link'],
    row: ({ at, heldId, lead, reason, linkLabel, linkId }) => [
      shortTime(at),
      heldId,
      lead.name ?? lead.email ?? lead.telephone ?? null,
      reason,
      linkLabel || linkId,
    ],
    limit,
    next: ({ heldId }) => `--before ${heldId}`,
  });
}

function heldText(held: HeldDetails): string {
  const { submission } = held;
  const values = leadValues(held.lead);
  const sections = [
    pairs([
      ['Held', held.heldId],
      ['State', held.state],
      ['Why', `${held.reason}: ${HELD_REASONS[held.reason]}`],
      ['Answered', held.answeredLeadId],
      ['Posted', shortTime(held.at)],
      ['Link', held.linkLabel || held.linkId],
      ['Page', submission.page ?? null],
      ['Address', submission.address ?? null],
      ['User agent', submission.userAgent ?? null],
      ...(held.decidedAt === null ? [] : [['Decided', shortTime(held.decidedAt)] as const]),
    ]),
    values.length === 0 ? '' : table(['field', 'read as'], values),
    bodyText('sent', submission),
  ];
  return sections.filter((section) => section !== '').join('\n');
}
