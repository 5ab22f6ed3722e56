import {
  addOperator,
  changePassword,
  listOperators,
  removeOperator,
  ROLES,
  type Role,
} from '@leadgate/store';
import { Option, type Command } from 'commander';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { addCommand, addNoun, answer, type Context, type JsonOption } from '../command.ts';
import { EXIT, Failure } from '../failure.ts';
import { showable } from '../print/showable.ts';
import { pairs, table } from '../print/table.ts';
import { shortTime } from '../print/time.ts';
import { refused } from '../refused.ts';

interface PasswordOption extends JsonOption {
  passwordFile?: string;
}

export function addOperatorCommands(program: Command, context: Context): void {
  const operator = addNoun(program, 'operator', 'Choose who may sign in to the console.');

  withPassword(
    addCommand(operator, 'add', {
      summary: 'Add somebody who may sign in to the console.',
      details: 'Without --password-file a password is made up and printed once.',
      examples: [
        'operator add "Ana Souza" --role operator',
        'operator add relatorios --role viewer --password-file password.txt',
      ],
    }).argument('<name>', 'the name to sign in with'),
  )
    .addOption(
      new Option('--role <role>', 'viewer: sees, personal data masked; operator: sees and acts')
        .choices(ROLES)
        .makeOptionMandatory(),
    )
    .action((name: string, options: PasswordOption & { role: Role }) =>
      add(context, name, options),
    );

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

  addCommand(operator, 'remove', {
    summary: 'Remove somebody from the console, and end their sessions at once.',
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
  { role, passwordFile, ...options }: PasswordOption & { role: Role },
): Promise<void> {
  const { password, madeUp } = choosePassword(passwordFile);
  const outcome = await addOperator(context.session.store(), { name, password, role });
  if (outcome.kind === 'invalid') throw refused(outcome.errors);
  if (outcome.kind === 'name-taken')
    throw new Failure(`There is an operator "${showable(outcome.name)}" already.`);
  const { operator } = outcome;
  answer(context.io, options, { ...operator, ...(madeUp && { password }) }, () =>
    pairs([
      ['Added', operator.name],
      ['Role', operator.role],
      ...(madeUp ? [['Password', `${password}  (shown this once)`] as const] : []),
    ]),
  );
}

async function list({ io, session }: Context, options: JsonOption): Promise<void> {
  const operators = await listOperators(session.store());
  answer(io, options, operators, () =>
    operators.length === 0
      ? 'Nobody can sign in yet: leadgate operator add NAME --role operator.\n'
      : table(
          ['name', 'role', 'added'],
          operators.map(({ name, role, createdAt }) => [name, role, shortTime(createdAt)]),
        ),
  );
}

async function changeTo(
  context: Context,
  name: string,
  { passwordFile, ...options }: PasswordOption,
): Promise<void> {
  const { password, madeUp } = choosePassword(passwordFile);
  const outcome = await changePassword(context.session.store(), name, password);
  if (outcome.kind === 'invalid') throw refused(outcome.errors);
  if (outcome.kind === 'unknown-operator') throw unknownOperator(name);
  answer(context.io, options, { name, ...(madeUp && { password }) }, () =>
    pairs([
      ['Changed', name],
      ...(madeUp ? [['Password', `${password}  (shown this once)`] as const] : []),
    ]),
  );
}

async function remove(context: Context, name: string, options: JsonOption): Promise<void> {
  const removed = await removeOperator(context.session.store(), name);
  if (!removed) throw unknownOperator(name);
  answer(context.io, options, { name }, () => pairs([['Removed', name]]));
}

const unknownOperator = (name: string): Failure =>
  new Failure(
    `There is no operator "${showable(name)}"; leadgate operator list shows those there are.`,
  );

/** 100 random bits where no file was given. */
function choosePassword(file: string | undefined): { password: string; madeUp: boolean } {
  if (file === undefined) return { password: randomBytes(15).toString('base64url'), madeUp: true };
  try {
    const password = readFileSync(file === '-' ? 0 : file, 'utf8').replace(/\r?\n$/, '');
    return { password, madeUp: false };
  } catch {
    throw new Failure(`The file "${showable(file)}" cannot be read.`, EXIT.usage);
  }
}
