import { type Access, type Role, ROLES } from '@leadgate/contract';
import { loadNoun, type Refusal } from '@leadgate/operations';
import { type Command, Option } from 'commander';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { call } from '../call.ts';
import { addCommand, answer, type Context, type JsonOption } from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { findWorkspace } from '../named.ts';
import { showable } from '../print/showable.ts';
import { pairs, shortTime, table } from '../print/table.ts';

interface AccessOptions {
  role: Role;
  workspace?: string;
}

const roleOption = (): Option =>
  new Option(
    '--role <role>',
    'viewer: sees, personal data masked; operator: sees and acts; administrator: chooses who may',
  );

interface PasswordOption extends JsonOption {
  passwordFile?: string;
}

export function addOperatorCommands(operator: Command, context: Context): void {
  withPassword(
    addCommand(operator, 'add', {
      summary: 'Add somebody who may sign in to the console.',
      details: 'Without --password-file a password is made up and printed once.',
      examples: [
        'operator add "Ana Souza" --role operator',
        'operator add "Cliente" --role viewer --workspace "My agency"',
        'operator add relatorios --role viewer --password-file password.txt',
      ],
    }).argument('<name>', 'the name to sign in with'),
  )
    .addOption(roleOption().choices(ROLES).makeOptionMandatory())
    .option('--workspace <workspace>', 'in this workspace only: name or id')
    .action((name: string, options: PasswordOption & AccessOptions) => add(context, name, options));

  addCommand(operator, 'set', {
    summary: 'Give somebody another role, everywhere or in one workspace.',
    examples: [
      'operator set "Ana Souza" --role viewer',
      'operator set "Ana Souza" --role none',
      'operator set "Cliente" --role viewer --workspace "My agency"',
    ],
  })
    .argument('<name>', 'their name')
    .addOption(
      roleOption()
        .choices([...ROLES, 'none'])
        .makeOptionMandatory(),
    )
    .option('--workspace <workspace>', 'in this workspace only: name or id')
    .action((name: string, options: Parameters<typeof set>[2]) => set(context, name, options));

  addCommand(operator, 'list', {
    summary: 'List who may sign in to the console.',
    examples: ['operator list'],
  }).action((options: JsonOption) => list(context, options));

  withPassword(
    addCommand(operator, 'password', {
      summary: 'Give somebody another password, and end their sessions.',
      details: 'Without --password-file a password is made up and printed once.',
      examples: ['operator password "Ana Souza"'],
    }).argument('<name>', 'their name'),
  ).action((name: string, options: PasswordOption) => changeTo(context, name, options));

  addCommand(operator, 'drop-second-factor', {
    summary: 'Ask somebody for no second factor any more: a lost telephone or key.',
    examples: ['operator drop-second-factor "Ana Souza"'],
  })
    .argument('<name>', 'their name')
    .action((name: string, options: JsonOption) => dropSecondFactor(context, name, options));

  addCommand(operator, 'remove', {
    summary: 'Remove somebody: their sessions, and the tokens that they made, end at once.',
    examples: ['operator remove "Ana Souza"'],
  })
    .argument('<name>', 'their name')
    .action((name: string, options: JsonOption) => remove(context, name, options));
}

// Not as an option's value: that would stand in the shell's history and in the list of processes.
const withPassword = (command: Command): Command =>
  command.option('--password-file <file>', 'file with the password; - for the standard input');

async function add(
  context: Context,
  name: string,
  { role, workspace, passwordFile, ...options }: PasswordOption & AccessOptions,
): Promise<void> {
  const { password, madeUp } = choosePassword(passwordFile);
  const workspaceId = await idOf(context, workspace);
  const { add } = await loadNoun('operator');
  const added = await call(context, add, { name, password, role, workspaceId });
  answer(context.io, options, { ...added, ...(madeUp && { password }) }, () =>
    pairs([
      ['Added', added.name],
      ['Role', rolesOf(added)],
      ...(madeUp ? [['Password', `${password}  (shown this once)`] as const] : []),
    ]),
  );
}

async function set(
  context: Context,
  name: string,
  {
    role,
    workspace,
    ...options
  }: JsonOption & Omit<AccessOptions, 'role'> & { role: Role | 'none' },
): Promise<void> {
  const workspaceId = await idOf(context, workspace);
  const { set } = await loadNoun('operator');
  const asked = { name, role: role === 'none' ? null : role, workspaceId };
  const changed = await call(context, set, asked, { words: UNKNOWN });
  answer(context.io, options, changed, () =>
    pairs([
      ['Changed', changed.name],
      ['Role', rolesOf(changed)],
    ]),
  );
}

async function list(context: Context, options: JsonOption): Promise<void> {
  const operators = await call(context, (await loadNoun('operator')).list, {});
  answer(context.io, options, operators, () =>
    operators.length === 0
      ? 'Nobody can sign in yet: leadgate operator add NAME --role administrator.\n'
      : table(
          ['name', 'role', 'second factor', 'added'],
          operators.map((one) => [
            one.name,
            rolesOf(one),
            one.hasSecondFactor ? 'yes' : 'no',
            shortTime(one.createdAt),
          ]),
        ),
  );
}

async function changeTo(
  context: Context,
  name: string,
  { passwordFile, ...options }: PasswordOption,
): Promise<void> {
  const { password, madeUp } = choosePassword(passwordFile);
  await call(
    context,
    (await loadNoun('operator')).password,
    { name, password },
    { words: UNKNOWN },
  );
  answer(context.io, options, { name, ...(madeUp && { password }) }, () =>
    pairs([
      ['Changed', name],
      ...(madeUp ? [['Password', `${password}  (shown this once)`] as const] : []),
    ]),
  );
}

async function dropSecondFactor(
  context: Context,
  name: string,
  options: JsonOption,
): Promise<void> {
  const { dropSecondFactor: drop } = await loadNoun('operator');
  await call(context, drop, { name }, { words: UNKNOWN });
  answer(context.io, options, { name }, () => pairs([['No code is asked of', name]]));
}

async function remove(context: Context, name: string, options: JsonOption): Promise<void> {
  await call(context, (await loadNoun('operator')).remove, { name }, { words: UNKNOWN });
  answer(context.io, options, { name }, () => pairs([['Removed', name]]));
}

const UNKNOWN = {
  'not-found': ({ detail }: Refusal) =>
    `${detail.replace(/\.$/, '')}; leadgate operator list shows those there are.`,
};

async function idOf(context: Context, workspace: string | undefined): Promise<string | undefined> {
  return workspace === undefined
    ? undefined
    : (await findWorkspace(context.session.store(), workspace)).id;
}

/** `operator; viewer of 0199…`. */
const rolesOf = ({ role, workspaces }: Access): string =>
  [
    ...(role === null ? [] : [role]),
    ...workspaces.map((one) => `${one.role} of ${one.workspaceId}`),
  ].join('; ') || 'none';

/** 100 random bits if no file was given. */
function choosePassword(file: string | undefined): { password: string; madeUp: boolean } {
  if (file === undefined) return { password: randomBytes(15).toString('base64url'), madeUp: true };
  try {
    const password = readFileSync(file === '-' ? 0 : file, 'utf8').replace(/\r?\n$/, '');
    return { password, madeUp: false };
  } catch {
    throw new Failure(`The file "${showable(file)}" cannot be read.`, EXIT.usage);
  }
}
