import { NOTE_CODES, type NoteCode } from '@leadgate/contract';
import { type CustomFieldChange } from '@leadgate/operations';
import { listWorkspaces, showLead, type Store, type StoredFilter } from '@leadgate/store';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { call } from '../call.ts';
import { answer, type Context, describe, type JsonOption } from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { findLinkNamed, findWorkspace } from '../named.ts';
import { count, table } from '../print/table.ts';
import { past, rate, readId } from '../read.ts';
import { followRun } from './run.ts';

interface ReplayOptions extends JsonOption {
  workspace?: string;
  link?: string;
  lead?: string;
  since?: Date;
  until?: Date;
  outcome?: 'created' | 'updated';
  note?: NoteCode;
  rate?: number;
  dryRun?: boolean;
}

/** A workspace, and what of it is to be replayed. */
type Selection = Omit<StoredFilter, 'afterOrder'> & { workspaceId: string };

export function addReplay(command: Command, context: Context): void {
  describe(command, {
    details:
      'For the field that was forgotten: it is filled for the leads that those submissions created. Always safe, however often: nothing newer is overwritten. Live traffic goes first. It is a run: see leadgate run. What was refused, held or has failed is in no log of submissions: see rejected, held and failed.',
    examples: [
      'replay --link summer-sale --note unknown-custom-field --dry-run',
      'replay --workspace "My agency" --since 7d --rate 100/s',
    ],
  })
    .option('--workspace <workspace>', 'of this workspace: name or id')
    .option('--link <link>', 'of this link: code, id or capture URL')
    .option('--lead <id>', 'of this lead, under all its ids')
    .option('--since <time>', 'accepted from then on: a time, a date, or how long ago (7d)', past)
    .option('--until <time>', 'accepted before then', past)
    .addOption(
      new Option('--outcome <outcome>', 'that created their lead, or changed one').choices([
        'created',
        'updated',
      ]),
    )
    .option('--note <code>', 'with a note of this code: unknown-custom-field, …', noteCode)
    .option('--rate <rate>', 'how many at most: 50/s, 600/m', rate)
    .option('--dry-run', 'say how many, and which custom fields would change')
    .action(async (options: ReplayOptions) => {
      const { workspace, link, lead, since, until, outcome, note } = options;
      if (
        [workspace, link, lead, since, until, outcome, note].every((given) => given === undefined)
      )
        throw new Failure(
          'Say what to replay: --workspace, --link, --lead, --since, --until, --outcome or --note.',
          EXIT.usage,
        );
      const selections = await select(context.session.store(), options);
      return options.dryRun === true
        ? dryRun(context, selections, options)
        : enqueue(context, selections, options);
    });
}

function noteCode(text: string): NoteCode {
  const codes = Object.keys(NOTE_CODES) as NoteCode[];
  const found = codes.find((code) => code === text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError(`It is one of ${codes.join(', ')}.`);
}

async function select(store: Store, options: ReplayOptions): Promise<Selection[]> {
  const { since, until, outcome, note } = options;
  const link = options.link === undefined ? null : await findLinkNamed(store, options.link);
  const lead = options.lead === undefined ? null : await existingLead(store, options.lead);
  const filter = {
    ...(link !== null && { linkId: link.id }),
    ...(lead !== null && { leadId: lead.leadId }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(outcome !== undefined && { outcome }),
    ...(note !== undefined && { note }),
  };
  const workspace =
    options.workspace === undefined ? null : await findWorkspace(store, options.workspace);
  const named = [workspace?.id, link?.workspaceId, lead?.workspaceId].filter(
    (id) => id !== undefined,
  );
  if (new Set(named).size > 1)
    throw new Failure('The workspace, link and lead named are not of one workspace.', EXIT.usage);
  const ids = named.length > 0 ? named.slice(0, 1) : (await listWorkspaces(store)).map((w) => w.id);
  return ids.map((workspaceId) => ({ workspaceId, ...filter }));
}

async function existingLead(store: Store, text: string) {
  const id = readId(text, 'lead');
  const lead = await showLead(store, id, { historyLimit: 1 });
  if (lead === null)
    throw new Failure(`No lead has the id ${id}; leadgate lead find looks for one.`);
  return lead;
}

const LISTED = 20;

async function dryRun(
  context: Context,
  selections: readonly Selection[],
  options: ReplayOptions,
): Promise<void> {
  const whole = { submissions: 0, leads: 0, changes: [] as CustomFieldChange[] };
  for (const selection of selections) {
    const preview = await call(context, 'submission.replay', { ...selection, dryRun: true });
    if (!('submissions' in preview)) throw new Error('a dry run began a run');
    whole.submissions += preview.submissions;
    whole.leads += preview.leads;
    whole.changes.push(...preview.changes);
  }
  const { submissions, leads, changes } = whole;
  const listed = changes.slice(0, LISTED);
  answer(context.io, options, whole, () =>
    [
      `${count(submissions, 'submission')} would be applied again; custom fields of ${count(leads, 'lead')} would change.\n`,
      ...(listed.length === 0 ? [] : [`\n${changeTable(listed)}`]),
      ...(leads > listed.length ? [`… and ${leads - listed.length} more\n`] : []),
    ].join(''),
  );
}

function changeTable(changes: readonly CustomFieldChange[]): string {
  return table(
    ['lead', 'filled', 'changed', 'emptied'],
    changes.map(({ leadId, filled, changed, emptied }) => [
      leadId,
      filled.join(', '),
      changed.join(', '),
      emptied.join(', '),
    ]),
  );
}

async function enqueue(
  context: Context,
  selections: readonly Selection[],
  options: ReplayOptions,
): Promise<void> {
  const { io } = context;
  const runs: string[] = [];
  let enqueued = 0;
  for (const selection of selections) {
    const run = await call(context, 'submission.replay', { ...selection, perSecond: options.rate });
    if (!('kind' in run)) throw new Error('a replay began no run');
    runs.push(run.id);
    const { progress } = await followRun(context, run.id);
    enqueued += progress['enqueued'] ?? 0;
  }
  answer(io, options, { enqueued, runs }, () =>
    enqueued === 0
      ? 'No submission fits.\n'
      : `${count(enqueued, 'submission')} enqueued to be applied again.\n`,
  );
}
