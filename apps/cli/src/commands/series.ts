import { type Command, Option } from 'commander';
import { call } from '../call.ts';
import { answer, type Context, describe, type JsonOption } from '../command.ts';
import { shortTime, table } from '../print/table.ts';
import { past } from '../read.ts';
import { whereOf } from './ledger.ts';

const BY = ['minute', 'hour', 'day', 'link', 'campaign', 'source', 'code'] as const;

interface SeriesOptions extends JsonOption {
  workspace?: string;
  link?: string;
  campaign?: string;
  by: (typeof BY)[number];
  from?: Date;
  to?: Date;
}

export function addSeries(command: Command, context: Context): void {
  describe(command, {
    details:
      'Over time (minute, hour, day), or compared by link, campaign, source, or code of refusals. Times without counts are left out.',
    examples: ['series --link 7fK2 --by minute', 'series --workspace Acme --by campaign --from 7d'],
  })
    .option('--workspace <name>', 'of this workspace, by name or id')
    .option('--link <link>', 'only of this link, by code, id or URL')
    .option(
      '--campaign <id>',
      'only of this campaign or source, by the id that --by campaign shows',
    )
    .addOption(new Option('--by <what>', 'how it is split').choices(BY).default('hour'))
    .option('--from <time>', 'from then on: a time, a date, or how long ago (7d)', past)
    .option('--to <time>', 'until then', past)
    .action((options: SeriesOptions) => show(context, options));
}

async function show(context: Context, options: SeriesOptions): Promise<void> {
  const where = await whereOf(context, options);
  const { campaign: campaignId, by, from, to } = options;
  const series = await call(context, 'series.show', { ...where, campaignId, by, from, to });
  answer(context.io, options, series, () =>
    series.rows.length === 0
      ? 'Nothing was counted.\n'
      : by === 'code'
        ? table(
            ['code', 'refused'],
            series.rows.map(({ code = '', n = 0 }) => [code, n]),
          )
        : table(
            [by, 'accepted', 'new', 'known', 'held', 'refused'],
            series.rows.map((row) => [
              row.at === undefined ? (row.name ?? []).join(' / ') : timeText(by, row.at),
              ...[row.accepted ?? 0, row.created ?? 0, row.updated ?? 0],
              row.held ?? null,
              row.refused === undefined ? null : sumOf(row.refused),
            ]),
          ),
  );
}

const timeText = (by: string, at: string): string => (by === 'day' ? at : shortTime(at));

const sumOf = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((sum, n) => sum + n, 0);
