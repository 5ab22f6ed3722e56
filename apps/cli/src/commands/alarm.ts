import type { Command } from 'commander';
import { call } from '../call.ts';
import { addCommand, answerList, type Context, type JsonOption } from '../command.ts';
import { namedIds } from '../named.ts';
import { shortTime } from '../print/table.ts';
import { wholeNumber } from '../read.ts';

interface ListOptions extends JsonOption {
  workspace?: string;
  all?: boolean;
  limit: number;
}

export function addAlarmCommands(alarm: Command, context: Context): void {
  addCommand(alarm, 'list', {
    summary: 'List alarms that are open, or all of them, the newest first.',
    examples: ['alarm list', 'alarm list --workspace Acme --all'],
  })
    .option('--workspace <name>', 'only of this workspace, by name or id')
    .option('--all', 'those that are over, too')
    .option('--limit <n>', 'how many at most', wholeNumber, 50)
    .action((options: ListOptions) => list(context, options));
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const { workspace, all, limit } = options;
  const { workspaceId } = await namedIds(context, { workspace });
  const alarms = await call(context, 'alarm.list', { workspaceId, all, limit });
  answerList(context.io, options, alarms, {
    none: 'No alarm.',
    head: ['since', 'until', 'alarm', 'of', 'facts'],
    row: ({ kind, subject, label, facts, openedAt, closedAt }) => [
      shortTime(openedAt),
      closedAt === null ? null : shortTime(closedAt),
      ...[kind, label || subject],
      Object.entries(facts)
        .map(([name, n]) => `${name} ${n}`)
        .join(', '),
    ],
  });
}
