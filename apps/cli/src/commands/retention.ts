import { allowRetention, type RetentionStanding, retentionStandings } from '@leadgate/store';
import { Argument, type Command } from 'commander';
import { addCommand, answer, type Context, type JsonOption } from '../command.ts';
import { shortTime, table } from '../print/table.ts';
import { past } from '../read.ts';

const SUBJECTS = { submissions: 'submission', rejected: 'rejected_submission' } as const;

export function addRetentionCommands(retention: Command, context: Context): void {
  addCommand(retention, 'show', {
    summary: 'Show up to when submissions and refused bodies were let go.',
    details: 'Times are those of Postgres, when it accepted a row.',
    examples: ['retention show', 'retention show --json'],
  }).action((options: JsonOption) => show(context, options));

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
    .action((what: keyof typeof SUBJECTS, options: JsonOption & { before: Date }) =>
      allow(context, what, options),
    );
}

async function allow(
  context: Context,
  what: keyof typeof SUBJECTS,
  { before, ...options }: JsonOption & { before: Date },
): Promise<void> {
  await allowRetention(context.session.store(), SUBJECTS[what], before);
  await show(context, options);
}

async function show({ io, session }: Context, options: JsonOption): Promise<void> {
  const standings = await retentionStandings(session.store());
  answer(io, options, standings, () =>
    table(['what', 'gone before', 'allowed before', 'waits for your word before'], rows(standings)),
  );
}

const rows = (standings: readonly RetentionStanding[]): string[][] =>
  standings.map(({ subject, horizon, allowed, wanted }) => [
    subject === 'submission' ? 'submissions' : 'rejected',
    ...[horizon, allowed, wanted].map((time) => (time === null ? '-' : shortTime(time))),
  ]);
