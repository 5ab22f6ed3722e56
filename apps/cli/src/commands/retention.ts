import {
  RETENTION_KINDS,
  type RetentionKind,
  type RetentionOfKind,
  type RetentionStanding,
} from '@leadgate/store';
import { Argument, type Command } from 'commander';
import { call } from '../call.ts';
import { addCommand, answer, type Context, type JsonOption } from '../command.ts';
import { namedIds } from '../named.ts';
import { shortTime, table } from '../print/table.ts';
import { past, wholeNumber } from '../read.ts';
import { workspaceOf } from './lead-export.ts';

const SUBJECTS = { submissions: 'submission', rejected: 'rejected_submission' } as const;

interface OfWorkspace extends JsonOption {
  workspace?: string;
}

export function addRetentionCommands(retention: Command, context: Context): void {
  addCommand(retention, 'show', {
    summary: 'Show what is kept for how long, and up to when it was let go.',
    details:
      'With --workspace what that one keeps, and who says so; else what the workers let go of all. Times are those of Postgres, when it accepted a row.',
    examples: ['retention show', 'retention show --workspace "My agency"'],
  })
    .option('--workspace <workspace>', 'of this one: name or id')
    .action(async (options: OfWorkspace) => {
      const { workspaceId } = await namedIds(context, options);
      if (workspaceId === undefined) {
        const standings = await call(context, 'retention.standings', {});
        answer(context.io, options, standings, () => standingTable(standings));
      } else {
        const policies = await call(context, 'retention.show', { workspaceId });
        answer(context.io, options, policies, () => policyTable(policies));
      }
    });

  addCommand(retention, 'set', {
    summary: 'Say for how many days a workspace keeps something.',
    details:
      'leads: since they were last touched, then erased as on request; submissions, rejected: since Postgres accepted them; consents: proofs of people who were erased. Workers let go what is older within the hour: look at the preview first.',
    examples: [
      'retention set leads 730 --workspace "My agency"',
      'retention set submissions default --workspace "My agency"',
    ],
  })
    .addArgument(new Argument('<what>', 'what is kept').choices(RETENTION_KINDS))
    .argument('<days>', 'for how many days, or default: as the settings of the workers say', daysOf)
    .option('--workspace <workspace>', 'name or id; needless if there is one only')
    .action(async (kind: RetentionKind, days: number | null, options: OfWorkspace) => {
      const workspaceId = await workspaceOf(context, options.workspace);
      const policies = await call(context, 'retention.set', { workspaceId, kind, days });
      answer(context.io, options, policies, () => policyTable(policies));
    });

  addCommand(retention, 'preview', {
    summary: 'Count what would go now if a workspace kept something for so many days.',
    examples: ['retention preview leads --days 730 --workspace "My agency"'],
  })
    .addArgument(new Argument('<what>', 'what is kept').choices(RETENTION_KINDS))
    .requiredOption('--days <n>', 'for how many days', wholeNumber)
    .option('--workspace <workspace>', 'name or id; needless if there is one only')
    .action(async (kind: RetentionKind, { days, ...options }: OfWorkspace & { days: number }) => {
      const workspaceId = await workspaceOf(context, options.workspace);
      const found = await call(context, 'retention.preview', { workspaceId, kind, days });
      answer(
        context.io,
        options,
        found,
        () =>
          `${found.count} of ${kind} are older than ${shortTime(found.before)}, and would go.\n`,
      );
    });

  addCommand(retention, 'allow', {
    summary: 'Allow the workers to let go all that was accepted before a time.',
    details:
      'Asked for when that is more than a month beyond the last run: at the first run over older rows, when the days were shortened, or when a clock is wrong. A worker does it within a minute, and no more than its days say.',
    examples: [
      'retention allow submissions --before 2026-01-01',
      'retention allow rejected --before 30d',
    ],
  })
    .addArgument(new Argument('<what>', 'submissions or rejected').choices(Object.keys(SUBJECTS)))
    .requiredOption(
      '--before <time>',
      'a time with its zone, a date (UTC), or how long ago (30d)',
      past,
    )
    .action(
      async (
        what: keyof typeof SUBJECTS,
        { before, ...options }: JsonOption & { before: Date },
      ) => {
        const standings = await call(context, 'retention.allow', {
          subject: SUBJECTS[what],
          before,
        });
        answer(context.io, options, standings, () => standingTable(standings));
      },
    );
}

/** Null: as the installation says. */
function daysOf(text: string): number | null {
  return text === 'default' ? null : wholeNumber(text);
}

const timeOf = (time: Date | null): string => (time === null ? '-' : shortTime(time));

const standingTable = (standings: readonly RetentionStanding[]): string =>
  table(
    ['what', 'gone before', 'allowed before', 'waits for your word before'],
    standings.map(({ subject, horizon, allowed, wanted }) => [
      subject === 'submission' ? 'submissions' : 'rejected',
      ...[horizon, allowed, wanted].map(timeOf),
    ]),
  );

const policyTable = (policies: readonly RetentionOfKind[]): string =>
  table(
    ['what', 'days', 'says', 'gone before', 'waits for your word before'],
    policies.map(({ kind, days, by, horizon, wanted }) => [
      kind,
      days ?? 'for good',
      by,
      timeOf(horizon),
      timeOf(wanted),
    ]),
  );
