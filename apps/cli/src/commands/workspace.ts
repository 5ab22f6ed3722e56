import { PHONE_CLASSES, type PhoneClass } from '@leadgate/contract';
import type { Workspace, WorkspaceCounts } from '@leadgate/store';
import { type Command, Option } from 'commander';
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
import { findWorkspace } from '../named.ts';
import { pairs, shortTime } from '../print/table.ts';

interface CreateOptions extends JsonOption {
  country: string;
  dummy?: string[];
}

interface RemoveOptions extends JsonOption {
  confirm?: string;
  dryRun?: boolean;
}

interface SetOptions extends JsonOption {
  dummy?: string[] | false;
  dummyClass?: PhoneClass[] | false;
  timeZone?: string;
}

export function addWorkspaceCommands(workspace: Command, context: Context): void {
  addCommand(workspace, 'create', {
    summary: 'Create a workspace.',
    examples: ['workspace create "My agency"', 'workspace create "Agência Lisboa" --country PT'],
  })
    .argument('<name>', 'its name, unique')
    .option(
      '--country <code>',
      'country (ISO 3166-1) of phone numbers without a country code',
      'BR',
    )
    .option('--dummy <phone>', 'a phone that identifies nobody; may be repeated', collect)
    .action(async (name: string, options: CreateOptions) => {
      const { country, dummy: dummyPhones } = options;
      const workspace = await call(context, 'workspace.create', { name, country, dummyPhones });
      answer(context.io, options, workspace, () =>
        pairs([
          ['Created', workspace.name],
          ['Id', workspace.id],
          ['Country', workspace.country],
          ['Time zone', workspace.timeZone],
          ...dummiesOf(workspace),
        ]),
      );
    });

  addCommand(workspace, 'set', {
    summary: 'Change which telephones identify nobody, or the time zone; what is not named stays.',
    details:
      'By default every telephone does: the same number is the same lead. It counts for leads that come from then on. ' +
      Object.entries(PHONE_CLASSES)
        .map(([name, meaning]) => `${name}: ${meaning}`)
        .join(' '),
    examples: [
      'workspace set "My agency" --dummy-class repeated impossible',
      'workspace set "My agency" --dummy "11 91234-5678"',
      'workspace set "My agency" --no-dummy-class --no-dummy',
      'workspace set "My agency" --time-zone Europe/Lisbon',
    ],
  })
    .argument('<workspace>', 'its name or id')
    .addOption(
      new Option('--dummy-class <class...>', 'the classes that identify nobody').choices(
        Object.keys(PHONE_CLASSES),
      ),
    )
    .option('--no-dummy-class', 'no class')
    .option(
      '--dummy <phone>',
      'a phone that identifies nobody; repeat it to name them all',
      collect,
    )
    .option('--no-dummy', 'an empty list')
    .option('--time-zone <zone>', 'of times that do not say theirs: America/Sao_Paulo')
    .action((named: string, options: SetOptions) => set(context, named, options));

  addCommand(workspace, 'remove', {
    summary: 'Remove a workspace with all that it holds. Cannot be undone.',
    details:
      'Its links answer 404, its leads and all that was posted are gone from Postgres and Redis, and what comes late of it (a job, a spool) is dropped. Endpoints are told nothing. Where it is cut off, the same again goes on. What stays: the audit log, who read what, and the id.',
    examples: [
      'workspace remove "My agency" --dry-run',
      'workspace remove "My agency" --confirm "My agency"',
    ],
  })
    .argument('<workspace>', 'its name or id')
    .option('--confirm <name>', 'its name once more')
    .option('--dry-run', 'count what would go, and change nothing')
    .action(async (named: string, options: RemoveOptions) => {
      const { confirm, dryRun = false } = options;
      if (!dryRun && confirm === undefined)
        throw new Failure('Say --dry-run to see what would go, or --confirm NAME.', EXIT.usage);
      const { id: workspaceId } = await findWorkspace(context.session.store(), named);
      const removed = await call(context, 'workspace.remove', { workspaceId, confirm, dryRun });
      answer(context.io, options, removed, () =>
        removedText(dryRun ? 'Would remove' : 'Removed', removed),
      );
    });

  addCommand(workspace, 'list', {
    summary: 'List the workspaces.',
    examples: ['workspace list', 'workspace list --json'],
  }).action(async (options: JsonOption) => {
    const workspaces = await call(context, 'workspace.list', {});
    answerList(context.io, options, workspaces, {
      none: 'There is no workspace yet: leadgate workspace create NAME.',
      head: ['name', 'id', 'country', 'created'],
      row: ({ name, id, country, createdAt }) => [name, id, country, shortTime(createdAt)],
    });
  });
}

async function set(context: Context, named: string, options: SetOptions): Promise<void> {
  const { id: workspaceId } = await findWorkspace(context.session.store(), named);
  const { dummy, dummyClass, timeZone } = options;
  const workspace = await call(context, 'workspace.set', {
    workspaceId,
    dummyPhones: dummy === false ? [] : dummy,
    dummyClasses: dummyClass === false ? [] : dummyClass,
    timeZone,
  });
  answer(context.io, options, workspace, () =>
    pairs([
      ['Workspace', workspace.name],
      ['Time zone', workspace.timeZone],
      ...dummiesOf(workspace),
    ]),
  );
}

function removedText(
  did: string,
  { name, counts }: { name: string; counts: WorkspaceCounts & { failed: number } },
): string {
  return pairs([
    [did, name],
    ['Links', counts.links],
    ['Custom fields', counts.fields],
    ['Endpoints', counts.endpoints],
    ['Leads', counts.leads],
    ['Submissions', counts.submissions],
    ['Refused bodies', counts.rejected],
    ['Held', counts.held],
    ['Deliveries', counts.deliveries],
    ['Failed jobs', counts.failed],
  ]);
}

/** What identifies nobody. */
function dummiesOf({ dummyPhones, dummyClasses }: Workspace): [string, string][] {
  return [['Dummies', [...dummyClasses, ...dummyPhones].join(', ') || 'none']];
}
