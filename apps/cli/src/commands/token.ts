import { createToken, listTokens, revokeToken, ROLES, type Role } from '@leadgate/store';
import { Option, type Command } from 'commander';
import { addCommand, addNoun, answer, type Context, type JsonOption } from '../command.ts';
import { Failure } from '../failure.ts';
import { showable } from '../print/showable.ts';
import { pairs, table } from '../print/table.ts';
import { shortTime } from '../print/time.ts';
import { refused } from '../refused.ts';

export function addTokenCommands(program: Command, context: Context): void {
  const token = addNoun(program, 'token', 'Create and revoke API tokens, for programs.');

  addCommand(token, 'create', {
    summary: 'Create an API token. It is shown once and cannot be shown again.',
    examples: ['token create prometheus --role viewer'],
  })
    .argument('<name>', 'what it is for; unique among those in force')
    .addOption(
      new Option('--role <role>', 'viewer: sees, personal data masked; operator: sees and acts')
        .choices(ROLES)
        .makeOptionMandatory(),
    )
    .action((name: string, options: JsonOption & { role: Role }) => create(context, name, options));

  addCommand(token, 'list', {
    summary: 'List the API tokens, revoked ones too.',
    examples: ['token list'],
  }).action((options: JsonOption) => list(context, options));

  addCommand(token, 'revoke', {
    summary: 'Revoke an API token, for good.',
    examples: ['token revoke prometheus'],
  })
    .argument('<token>', 'its name or id')
    .action((name: string, options: JsonOption) => revoke(context, name, options));
}

async function create(
  context: Context,
  name: string,
  { role, ...options }: JsonOption & { role: Role },
): Promise<void> {
  const outcome = await createToken(context.session.store(), { name, role });
  if (outcome.kind === 'invalid') throw refused(outcome.errors);
  if (outcome.kind === 'name-taken')
    throw new Failure(
      `A token in force is named "${showable(outcome.name)}" already: revoke it, or choose another name.`,
    );
  const { token, secret } = outcome;
  answer(context.io, options, { ...token, secret }, () =>
    pairs([
      ['Created', token.name],
      ['Role', token.role],
      ['Token', `${secret}  (shown this once)`],
    ]),
  );
}

async function list({ io, session }: Context, options: JsonOption): Promise<void> {
  const tokens = await listTokens(session.store());
  answer(io, options, tokens, () =>
    tokens.length === 0
      ? 'There is no API token: leadgate token create NAME --role viewer.\n'
      : table(
          ['name', 'role', 'created', 'last used', 'state', 'id'],
          tokens.map(({ name, role, createdAt, lastUsedAt, revokedAt, id }) => [
            name,
            role,
            shortTime(createdAt),
            lastUsedAt === null ? null : shortTime(lastUsedAt),
            revokedAt === null ? 'in force' : 'revoked',
            id,
          ]),
        ),
  );
}

async function revoke(context: Context, name: string, options: JsonOption): Promise<void> {
  const token = await revokeToken(context.session.store(), name);
  if (token === null)
    throw new Failure(
      `No token in force is named "${showable(name)}"; leadgate token list shows those there are.`,
    );
  answer(context.io, options, token, () => pairs([['Revoked', token.name]]));
}
