import { isUuid } from '@leadgate/store';
import { type Command, Option } from 'commander';
import { call } from '../call.ts';
import { addCommand, answer, type Context, type JsonOption, remark } from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { namedIds } from '../named.ts';
import { duplicateTable, leadTable, leadText } from '../print/lead.ts';
import { showable } from '../print/showable.ts';
import { shortTime, table } from '../print/table.ts';
import { past, wholeNumber } from '../read.ts';
import { addLeadErase, addLeadPerson } from './person.ts';
import { addLeadLists } from './lead-export.ts';

interface FindOptions extends JsonOption {
  email?: string;
  telephone?: string;
  name?: string;
  workspace?: string;
  limit: number;
}

interface DuplicatesOptions extends JsonOption {
  workspace?: string;
  lead?: string;
  since?: Date;
  until?: Date;
  after?: string;
  limit: number;
}

interface ChangesOptions extends JsonOption {
  after?: string;
  limit: number;
}

interface ShowOptions extends JsonOption {
  history: number;
}

interface EventsOptions extends JsonOption {
  limit: number;
}

interface SplitOptions extends JsonOption {
  dryRun?: boolean;
}

const LEAD = 'any id of the lead that was ever answered';

export function addLeadCommands(lead: Command, context: Context): void {
  addCommand(lead, 'find', {
    summary: 'Find leads by email, telephone, name, id, or a part of one.',
    details: 'Finding none is no failure.',
    examples: [
      'lead find --email ana@example.com',
      'lead find --telephone "(11) 98765-4321" --workspace "My agency"',
      'lead find souza --json',
    ],
  })
    .argument('[text...]', 'an id, or a part of a name, email or telephone')
    .addOption(new Option('--email <email>', 'the whole email').conflicts(['telephone', 'name']))
    .addOption(
      new Option('--telephone <phone>', 'the whole telephone, as anyone would write it').conflicts(
        'name',
      ),
    )
    .option('--name <words>', 'words of the name, in any order; case and accents do not matter')
    .option('--workspace <workspace>', 'only in this one: name or id')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action((words: string[], options: FindOptions) => find(context, words.join(' '), options));

  addCommand(lead, 'show', {
    summary: 'Show all that is known of a lead, and which submission set what.',
    examples: ['lead show 7c9e6679-7425-40de-944b-e07fc1f90ae7'],
  })
    .argument('<id>', LEAD)
    .option('--history <n>', 'how many submissions at most, newest first', wholeNumber, 50)
    .action(async (id: string, options: ShowOptions) => {
      const { io } = context;
      const leadId = readLeadId(id);
      const lead = await existing(context, leadId, options.history);
      if (lead.leadId !== leadId) remark(io, `${leadId} stands for lead ${lead.leadId}.`);
      answer(io, options, lead, () => leadText(lead));
    });

  addCommand(lead, 'events', {
    summary: 'List what happened with a lead besides its posts: deliveries and merges.',
    examples: ['lead events 7c9e6679-7425-40de-944b-e07fc1f90ae7'],
  })
    .argument('<id>', LEAD)
    .option('--limit <n>', 'how many messages at most, newest first', wholeNumber, 50)
    .action((id: string, options: EventsOptions) => events(context, id, options));

  addCommand(lead, 'merge', {
    summary: 'Make one lead of two, as if every submission had been of the first.',
    details: 'Both ids then stand for it. Cannot be undone.',
    examples: [
      'lead merge 7c9e6679-7425-40de-944b-e07fc1f90ae7 1b4e28ba-2fa1-4d3b-a3f5-ef19b5a7633b',
    ],
  })
    .argument('<keep>', 'the lead that stays: any id of it')
    .argument('<other>', 'the lead that becomes part of it: any id of it')
    .action((keep: string, other: string, options: JsonOption) =>
      merge(context, keep, other, options),
    );

  addCommand(lead, 'split', {
    summary: 'Take a lead apart that is several people, whom one telephone joined.',
    details:
      'Makes one lead for each email of its submissions, as if they had never met: each is what its own submissions make it. The oldest keeps the id and the telephone. To keep the telephone from joining people again: leadgate workspace set.',
    examples: ['lead split 7c9e6679-7425-40de-944b-e07fc1f90ae7 --by email --dry-run'],
  })
    .argument('<id>', LEAD)
    .addOption(
      new Option('--by <what>', 'what tells people apart').choices(['email']).makeOptionMandatory(),
    )
    .option('--dry-run', 'say what would be, and change nothing')
    .action(async (id: string, options: SplitOptions) => {
      const { workspaceId, leadId } = await existing(context, id, 1);
      const { dryRun = false } = options;
      const outcome = await call(context, 'lead.split', { workspaceId, leadId, dryRun });
      const rows = outcome.parts.map((part) => [part.leadId, part.email, part.submissions]);
      answer(
        context.io,
        options,
        outcome,
        () =>
          `${dryRun ? 'Would take it apart into' : 'Taken apart into'}\n\n${table(['lead', 'email', 'submissions'], rows)}`,
      );
    });

  addCommand(lead, 'newest', {
    summary: 'List the leads of the newest posts.',
    examples: ['lead newest --workspace "My agency"'],
  })
    .option('--workspace <workspace>', 'only in this one: name or id')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action(async (options: FindOptions) => {
      const leads = await call(context, 'lead.newest', {
        ...(await namedIds(context, options)),
        limit: options.limit,
      });
      answer(context.io, options, leads, () => leadTable(leads) || 'No lead found.\n');
    });

  addCommand(lead, 'duplicates', {
    summary: 'List leads that may be one person: one submission named both.',
    examples: [
      'lead duplicates --workspace "My agency" --since 7d',
      'lead duplicates --lead 7c9e6679-7425-40de-944b-e07fc1f90ae7',
    ],
  })
    .option('--workspace <workspace>', 'only in this one: name or id')
    .option('--lead <id>', 'only of this lead, under all its ids')
    .option('--since <time>', 'first seen from then on: a time, a date, or how long ago (7d)', past)
    .option('--until <time>', 'first seen before then', past)
    .option('--after <pair>', 'only those after this one in the list: the next page')
    .option('--limit <n>', 'how many pairs at most, newest first', wholeNumber, 50)
    .action((options: DuplicatesOptions) => duplicates(context, options));

  addCommand(lead, 'changes', {
    summary: 'Read what changed since a cursor; without one, all leads.',
    details:
      'For programs: with --json every page has a cursor to go on with. A change is given once all that began before it are committed, so none is left out.',
    examples: [
      'lead changes "My agency" --limit 500 --json',
      'lead changes "My agency" --after CURSOR --json',
    ],
  })
    .argument('<workspace>', 'name or id')
    .option('--after <cursor>', 'the cursor of the page before')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action((workspace: string, options: ChangesOptions) => changes(context, workspace, options));

  addLeadPerson(lead, context);
  addLeadErase(lead, context);
  addLeadLists(lead, context);
}

async function find(context: Context, text: string, options: FindOptions): Promise<void> {
  const { io } = context;
  const { email, telephone, name, limit } = options;
  const q = text === '' ? undefined : text;
  const asked = [email, telephone, name, q].filter((given) => given !== undefined);
  if (asked.length !== 1 || asked[0]?.trim() === '')
    throw new Failure(
      'Say whom to look for: --email, --telephone, --name, or a text; one of them.',
      EXIT.usage,
    );
  const ids = await namedIds(context, options);
  const leads = await call(context, 'lead.find', { ...ids, q, email, telephone, name, limit });
  answer(io, options, leads, () => leadTable(leads) || 'No lead found.\n');
  if (leads.length === limit)
    remark(io, `there may be more than these ${limit}; --limit shows more.`);
}

async function events(context: Context, id: string, options: EventsOptions): Promise<void> {
  const found = await call(context, 'lead.events', {
    leadId: readLeadId(id),
    limit: options.limit,
  });
  const { sent, waiting, merges } = found;
  const rows = [
    ...waiting.map(({ dueAt, endpoint, attempts }) => [
      ...[shortTime(dueAt), 'to be sent', endpoint, `${attempts} tries`],
    ]),
    ...sent.map(({ at, event, endpoint, outcome, status }) => [
      ...[shortTime(at), event, endpoint, status === null ? outcome : `${outcome} ${status}`],
    ]),
    ...merges.map(({ leadId, at }) => [shortTime(at), 'merged', leadId, '']),
  ];
  answer(context.io, options, found, () =>
    rows.length === 0 ? 'Nothing yet.\n' : table(['at', 'what', 'with', 'answer'], rows),
  );
}

async function merge(
  context: Context,
  keep: string,
  other: string,
  options: JsonOption,
): Promise<void> {
  const [first, second] = [await existing(context, keep), await existing(context, other)];
  if (first.workspaceId !== second.workspaceId)
    throw new Failure(
      `The leads are of two workspaces, "${showable(first.workspace)}" and "${showable(second.workspace)}", and stay two.`,
    );
  const outcome = await call(context, 'lead.merge', {
    workspaceId: first.workspaceId,
    leadId: first.leadId,
    otherId: second.leadId,
  });
  const lead = await existing(context, outcome.leadId);
  answer(
    context.io,
    options,
    lead,
    () => `${outcome.merged ? 'Merged' : 'They were one lead before'}.\n\n${leadText(lead)}`,
  );
}

async function changes(
  context: Context,
  named: string,
  { after, limit, ...options }: ChangesOptions,
): Promise<void> {
  const { io } = context;
  const { workspaceId } = await namedIds(context, { workspace: named });
  const page = await call(context, 'lead.changes', {
    workspaceId: workspaceId ?? '',
    after,
    limit,
  });
  answer(io, options, page, () =>
    table(
      ['lead', 'version', 'is', 'name'],
      page.changes.map((one) => [
        ...[one.leadId, one.version],
        one.kind === 'merged' ? `now ${one.mergedInto}` : one.kind,
        one.kind === 'lead' ? showable(one.data.name ?? '') : '',
      ]),
    ),
  );
  if (page.restarted) remark(io, 'the cursor leads nowhere any more: these are all leads again.');
  remark(io, `${page.more ? 'there is more; ' : ''}go on with --after ${page.cursor}`);
}

async function duplicates(context: Context, options: DuplicatesOptions): Promise<void> {
  const { io } = context;
  const { lead, since, until, after, limit } = options;
  const pairs = await call(context, 'lead.duplicates', {
    ...(await namedIds(context, options)),
    leadId: lead === undefined ? undefined : readLeadId(lead),
    ...{ since, until, after, limit },
  });
  answer(io, options, pairs, () =>
    pairs.length === 0
      ? 'No pair of leads may be one person.\n'
      : `${duplicateTable(pairs)}\nTo make one of two: leadgate lead merge KEEP OTHER\n`,
  );
  const last = pairs.at(-1);
  if (last !== undefined && pairs.length === limit)
    remark(io, `there may be more: add --after ${last.pair}`);
}

async function existing(context: Context, id: string, history = 50) {
  const leadId = readLeadId(id);
  return call(context, 'lead.show', { leadId, history });
}

function readLeadId(text: string): string {
  const id = text.trim().toLowerCase();
  if (isUuid(id)) return id;
  throw new Failure(
    `"${showable(text)}" is not a lead id (a UUID); leadgate lead find TEXT looks for names, emails and phones.`,
    EXIT.usage,
  );
}
