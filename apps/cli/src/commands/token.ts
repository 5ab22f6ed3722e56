import type { Role } from '@leadgate/contract';
import type { ApiToken } from '@leadgate/store';
import type { Command } from 'commander';
import { call } from '../call.ts';
import { addCommand, answer, answerList, type Context, type JsonOption } from '../command.ts';
import { namedIds } from '../named.ts';
import { showable } from '../print/showable.ts';
import { pairs, shortTime } from '../print/table.ts';
import { roleOption } from '../read.ts';

interface CreateOptions extends JsonOption {
  role: Role;
  workspace?: string;
  days?: number;
}

export function addTokenCommands(token: Command, context: Context): void {
  addCommand(token, 'create', {
    summary: 'Create an API token. It is shown once and cannot be shown again.',
    examples: [
      'token create prometheus --role viewer --days 365',
      'token create crm --role operator --workspace "My agency"',
    ],
  })
    .argument('<name>', 'what it is for; unique among those in force')
    .addOption(roleOption())
    .option('--workspace <workspace>', 'in this workspace only: name or id')
    .option('--days <days>', 'how long it is good for, at most a year; 90 if not named', Number)
    .action(async (name: string, { role, workspace, days, ...options }: CreateOptions) => {
      const { workspaceId } = await namedIds(context, { workspace });
      const { secret, ...token } = await call(context, 'token.create', {
        name,
        role,
        workspaceId,
        days,
      });
      answer(context.io, options, { ...token, secret }, () =>
        pairs([
          ['Created', token.name],
          ['Role', token.role],
          ['Good until', shortTime(token.expiresAt)],
          ['Token', `${secret}  (shown this once)`],
        ]),
      );
    });

  addCommand(token, 'list', {
    summary: 'List the API tokens, revoked ones too.',
    examples: ['token list'],
  }).action((options: JsonOption) => list(context, options));

  addCommand(token, 'revoke', {
    summary: 'Revoke an API token, for good.',
    examples: ['token revoke prometheus'],
  })
    .argument('<token>', 'its name or id')
    .action(async (name: string, options: JsonOption) => {
      const token = await call(
        context,
        'token.revoke',
        { name },
        {
          words: {
            'not-found': `No token in force is named "${showable(name)}"; leadgate token list shows those there are.`,
          },
        },
      );
      answer(context.io, options, token, () => pairs([['Revoked', token.name]]));
    });
}

async function list(context: Context, options: JsonOption): Promise<void> {
  const tokens = await call(context, 'token.list', {});
  answerList(context.io, options, tokens, {
    none: 'There is no API token: leadgate token create NAME --role viewer.',
    head: [
      'name',
      'role',
      'workspace',
      'made by',
      'created',
      'good until',
      'last used',
      'state',
      'id',
    ],
    row: (token) => [
      ...[token.name, token.role, token.workspaceId ?? 'all', token.createdBy],
      ...[shortTime(token.createdAt), shortTime(token.expiresAt)],
      token.lastUsedAt === null ? null : shortTime(token.lastUsedAt),
      stateOf(token),
      token.id,
    ],
  });
}

const stateOf = ({ revokedAt, expiresAt }: ApiToken): string =>
  revokedAt !== null ? 'revoked' : expiresAt <= new Date() ? 'ended' : 'in force';
