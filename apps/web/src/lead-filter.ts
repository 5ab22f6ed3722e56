import type { Body } from './api.ts';

export type LeadFilter = Omit<
  Body<'/api/workspaces/{workspaceId}/leads/search', 'post'>,
  'after' | 'limit'
>;

export const PERIODS = ['today', '7d', '30d'] as const;
type Period = (typeof PERIODS)[number];

const DAY_MS = 86_400_000;

/** Midnight of the reader's zone, some days ago. */
export function startOfDay(daysAgo: number): Date {
  const day = new Date();
  day.setHours(0, 0, 0, 0);
  day.setDate(day.getDate() - daysAgo);
  return day;
}

const DAYS_AGO: Record<Period, number> = { today: 0, '7d': 6, '30d': 29 };

/** The first and the last day of an address, as the API asks for them: the reader's days. */
function timesOf(params: URLSearchParams): Pick<LeadFilter, 'since' | 'until'> {
  const period = PERIODS.find((one) => one === params.get('period'));
  if (period !== undefined) return { since: startOfDay(DAYS_AGO[period]).toISOString() };
  const [from, to] = [dayOf(params.get('from')), dayOf(params.get('to'))];
  return {
    ...(from !== null && { since: from.toISOString() }),
    ...(to !== null && { until: new Date(to.getTime() + DAY_MS).toISOString() }),
  };
}

function dayOf(text: string | null): Date | null {
  const day = new Date(`${text ?? ''}T00:00`);
  return Number.isNaN(day.getTime()) ? null : day;
}

const yesOrNo = (text: string | null): boolean | undefined =>
  text === 'yes' ? true : text === 'no' ? false : undefined;

/** The filter that an address holds, with the value of its custom field, which is in no address. */
export function filterOf(params: URLSearchParams, value: string): LeadFilter {
  const filter: LeadFilter = timesOf(params);
  const take = (name: 'utmSource' | 'utmMedium' | 'utmCampaign') => {
    const value = params.get(name);
    if (value) filter[name] = value;
  };
  take('utmSource');
  take('utmMedium');
  take('utmCampaign');
  const link = params.get('link');
  if (link) filter.linkId = link;
  const came = params.get('came');
  if (came === 'once' || came === 'again') filter.came = came;
  const note = params.get('note');
  if (note) filter.note = note as NonNullable<LeadFilter['note']>;
  const field = params.get('field');
  if (field && value) Object.assign(filter, { fieldId: field, fieldValue: value });
  for (const name of ['telephone', 'email'] as const) {
    const wanted = yesOrNo(params.get(name));
    if (wanted !== undefined) filter[name] = wanted;
  }
  return filter;
}
