import { type Access, type Role, ROLES } from '@leadgate/contract';
import type { Command } from 'commander';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { call, unknownIn } from '../call.ts';
import { addCommand, answer, answerList, type Context, type JsonOption } from '../command.ts';
import { EXIT, Failure } from '../io.ts';
import { namedIds } from '../named.ts';
import { showable } from '../print/showable.ts';
import { pairs, shortTime } from '../print/table.ts';
import { roleOption } from '../read.ts';

interface AccessOptions {
  role: Role;
  workspace?: string;
}

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
    .addOption(roleOption())
    .option('--workspace <workspace>', 'in this workspace only: name or id')
    .action(
      async (
        name: string,
        { role, workspace, passwordFile, ...options }: PasswordOption & AccessOptions,
      ) => {
        const { password, madeUp } = choosePassword(passwordFile);
        const { workspaceId } = await namedIds(context, { workspace });
        const added = await call(context, 'operator.add', { name, password, role, workspaceId });
        answer(context.io, options, { ...added, ...(madeUp && { password }) }, () =>
          pairs([
            ['Added', added.name],
            ['Role', rolesOf(added)],
            ...(madeUp ? [['Password', `${password}  (shown this once)`] as const] : []),
          ]),
        );
      },
    );

  addCommand(operator, 'set', {
    summary: 'Give somebody another role, everywhere or in one workspace.',
    examples: [
      'operator set "Ana Souza" --role viewer',
      'operator set "Ana Souza" --role none',
      'operator set "Cliente" --role viewer --workspace "My agency"',
    ],
  })
    .argument('<name>', 'their name')
    .addOption(roleOption([...ROLES, 'none']))
    .option('--workspace <workspace>', 'in this workspace only: name or id')
    .action(
      async (
        name: string,
        {
          role,
          workspace,
          ...options
        }: JsonOption & Omit<AccessOptions, 'role'> & { role: Role | 'none' },
      ) => {
        const { workspaceId } = await namedIds(context, { workspace });
        const asked = { name, role: role === 'none' ? null : role, workspaceId };
        const changed = await call(context, 'operator.set', asked, { words });
        answer(context.io, options, changed, () =>
          pairs([
            ['Changed', changed.name],
            ['Role', rolesOf(changed)],
          ]),
        );
      },
    );

  addCommand(operator, 'list', {
    summary: 'List who may sign in to the console.',
    examples: ['operator list'],
  }).action(async (options: JsonOption) => {
    const operators = await call(context, 'operator.list', {});
    answerList(context.io, options, operators, {
      none: 'Nobody can sign in yet: leadgate operator add NAME --role administrator.',
      head: ['name', 'role', 'second factor', 'added'],
      row: (one) => [
        one.name,
        rolesOf(one),
        one.hasSecondFactor ? 'yes' : 'no',
        shortTime(one.createdAt),
      ],
    });
  });

  withPassword(
    addCommand(operator, 'password', {
      summary: 'Give somebody another password, and end their sessions.',
      details: 'Without --password-file a password is made up and printed once.',
      examples: ['operator password "Ana Souza"'],
    }).argument('<name>', 'their name'),
  ).action(async (name: string, { passwordFile, ...options }: PasswordOption) => {
    const { password, madeUp } = choosePassword(passwordFile);
    await call(context, 'operator.password', { name, password }, { words });
    answer(context.io, options, { name, ...(madeUp && { password }) }, () =>
      pairs([
        ['Changed', name],
        ...(madeUp ? [['Password', `${password}  (shown this once)`] as const] : []),
      ]),
    );
  });

  addCommand(operator, 'drop-second-factor', {
    summary: 'Ask somebody for no second factor any more: a lost telephone or key.',
    examples: ['operator drop-second-factor "Ana Souza"'],
  })
    .argument('<name>', 'their name')
    .action(async (name: string, options: JsonOption) => {
      await call(context, 'operator.dropSecondFactor', { name }, { words });
      answer(context.io, options, { name }, () => pairs([['No code is asked of', name]]));
    });

  addCommand(operator, 'remove', {
    summary: 'Remove somebody: their sessions, and the tokens that they made, end at once.',
    examples: ['operator remove "Ana Souza"'],
  })
    .argument('<name>', 'their name')
    .action(async (name: string, options: JsonOption) => {
      await call(context, 'operator.remove', { name }, { words });
      answer(context.io, options, { name }, () => pairs([['Removed', name]]));
    });
}

// Not as an option's value: that would stand in the shell's history and in the list of processes.
const withPassword = (command: Command): Command =>
  command.option('--password-file <file>', 'file with the password; - for the standard input');

const words = unknownIn('operator');

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
