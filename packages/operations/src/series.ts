import {
  dayAfter,
  findWorkspace,
  type Part,
  partsOf,
  RANKED_DAYS,
  rankSubjects,
  readSeries,
  workspaceOf,
  workspaceOfCampaign,
  type Workspace,
} from '@leadgate/store';
import { Type, type Static } from 'typebox';
import { invalid, operation, Refusal, type Connections, UNKNOWN_WORKSPACE } from './operation.ts';
import { Time, Uuid } from './schema.ts';

const DAY_MS = 86_400_000;

/** What is shown unless it is said, and what may be asked for at once. */
const RANGES = {
  minute: { usual: DAY_MS / 24, most: 2 * DAY_MS },
  // More than two thousand times are no chart: of a longer range days.
  hour: { usual: DAY_MS, most: 100 * DAY_MS },
  day: { usual: 30 * DAY_MS, most: 764 * DAY_MS },
  link: { usual: 30 * DAY_MS, most: 764 * DAY_MS },
  campaign: { usual: 30 * DAY_MS, most: 764 * DAY_MS },
  source: { usual: 30 * DAY_MS, most: 764 * DAY_MS },
  code: { usual: 30 * DAY_MS, most: 764 * DAY_MS },
};
type By = keyof typeof RANGES;

/** A longer range is compared by months. */
const MOST_RANKED_DAYS = 31;

const Count = Type.Integer();
const Counts = Type.Record(Type.String(), Count);

const SeriesView = Type.Object({
  from: Type.String({ description: 'Counted in: a time, or a day.' }),
  to: Type.String({ description: 'Not counted in by time; of days and months the last one.' }),
  by: Type.String(),
  zone: Type.String({ description: 'Of the days: the time zone of the workspace (IANA).' }),
  rows: Type.Array(
    Type.Object({
      at: Type.Optional(
        Type.String({ description: 'The begin of the minute or hour (UTC), or the day.' }),
      ),
      id: Type.Optional(Type.String({ description: 'Of the link, campaign or source.' })),
      name: Type.Optional(
        Type.Array(Type.String(), {
          description:
            "A link's label; source, medium and campaign of the last touch, empty without one.",
        }),
      ),
      code: Type.Optional(Type.String()),
      n: Type.Optional(Count),
      accepted: Type.Optional(Count),
      created: Type.Optional(Type.Integer({ description: 'Stored, of a new lead.' })),
      updated: Type.Optional(Type.Integer({ description: 'Stored, of a known lead.' })),
      repeated: Type.Optional(Count),
      held: Type.Optional(Count),
      erased: Type.Optional(Count),
      spooled: Type.Optional(Count),
      delivered: Type.Optional(
        Type.Integer({
          description:
            'Newer versions of leads that endpoints took, by the link that changed them.',
        }),
      ),
      refused: Type.Optional(Counts),
      speed: Type.Optional(Counts),
    }),
  ),
});

type Series = Static<typeof SeriesView>;

/** Counts over time, and comparisons of links and campaigns. */
export const series = {
  show: operation({
    name: 'series.show',
    id: 'showSeries',
    method: 'GET',
    path: '/series',
    summary: 'What came, over time or by link, campaign, source or code',
    description:
      'By minute (of the last two days), hour (of 100 days at most, in the last two years) or day: of the workspace, or of one link, campaign or source. By link, campaign or source: the 200 with most. By code: what was refused. Times without counts are left out. A range of more than a month, or that begins more than 60 days ago, is compared by whole months.',
    scope: 'workspaceId',
    input: Type.Object({
      workspaceId: Uuid,
      by: Type.Optional(Type.Enum(Object.keys(RANGES) as By[], { default: 'hour' })),
      from: Type.Optional(Time),
      to: Type.Optional(Time),
      linkId: Type.Optional(Uuid),
      campaignId: Type.Optional(
        Type.String({ format: 'uuid', description: 'Of a campaign or a source, as rows name it.' }),
      ),
    }),
    output: SeriesView,
    run: async ({ workspaceId, by = 'hour', linkId, campaignId, ...range }, { store }) => {
      const workspace = await findWorkspace(store, workspaceId);
      if (workspace === null) return UNKNOWN_WORKSPACE;
      const to = range.to === undefined ? new Date(Date.now() + 1) : new Date(range.to);
      const { usual, most } = RANGES[by];
      const from = range.from === undefined ? new Date(to.getTime() - usual) : new Date(range.from);
      const length = to.getTime() - from.getTime();
      if (length <= 0 || length > most)
        return invalid([
          {
            pointer: '/from',
            code: 'range',
            detail: `A series by ${by} is of ${most / DAY_MS} days at most, and begins before it ends.`,
          },
        ]);
      const subject = await subjectOf({ store }, workspaceId, { linkId, campaignId });
      if (subject instanceof Refusal) return subject;
      return readRange({ store }, workspace, { by, from, to, subject });
    },
  }),
};

const NO_SUBJECT = new Refusal('not-found', 'There is no such link or campaign in the workspace.');

async function subjectOf(
  { store }: Pick<Connections, 'store'>,
  workspaceId: string,
  { linkId, campaignId }: { linkId: string | undefined; campaignId: string | undefined },
): Promise<string | Refusal> {
  if (linkId !== undefined && campaignId !== undefined)
    return invalid([
      { pointer: '/campaignId', code: 'invalid', detail: 'Ask for a link or for a campaign.' },
    ]);
  if (linkId !== undefined)
    return (await workspaceOf(store, 'link', linkId)) === workspaceId ? linkId : NO_SUBJECT;
  if (campaignId === undefined) return workspaceId;
  return (await workspaceOfCampaign(store, campaignId)) === workspaceId ? campaignId : NO_SUBJECT;
}

async function readRange(
  { store }: Pick<Connections, 'store'>,
  { id: workspaceId, timeZone: zone }: Pick<Workspace, 'id' | 'timeZone'>,
  { by, from, to, subject }: { by: By; from: Date; to: Date; subject: string },
): Promise<Series> {
  if (by === 'minute' || by === 'hour') {
    const range = { from: from.toISOString(), to: to.toISOString() };
    const rows = await readSeries(store, { subject, grain: by, ...range });
    return { ...range, by, zone, rows };
  }
  const days = { from: dayIn(zone, from), to: dayIn(zone, new Date(to.getTime() - 1)) };
  if (by === 'day' || by === 'code') {
    const rows = await readSeries(store, {
      ...{ subject, grain: 'day', from: days.from },
      to: dayAfter(days.to, 1),
    });
    return { ...days, by, zone, rows: by === 'day' ? rows : codesOf(rows) };
  }
  const today = dayIn(zone, new Date());
  const isByDay =
    to.getTime() - from.getTime() <= MOST_RANKED_DAYS * DAY_MS &&
    days.from >= dayAfter(today, -RANKED_DAYS);
  const range = isByDay ? days : { from: monthOf(days.from), to: monthOf(days.to) };
  const parts: Part[] = isByDay
    ? partsOf({ ...days, today })
    : [{ span: 'month', ...range, sign: 1 }];
  return { ...range, by, zone, rows: await rankSubjects(store, { workspaceId, kind: by, parts }) };
}

function codesOf(rows: readonly { refused: Record<string, number> }[]) {
  const sums = new Map<string, number>();
  for (const { refused } of rows)
    for (const [code, n] of Object.entries(refused)) sums.set(code, (sums.get(code) ?? 0) + n);
  return [...sums].map(([code, n]) => ({ code, n })).sort((a, b) => b.n - a.n);
}

/** The day of a moment in a time zone: `2026-11-28`. */
const dayIn = (timeZone: string, moment: Date): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone }).format(moment);

const monthOf = (day: string): string => `${day.slice(0, 7)}-01`;
