import { useQuery } from '@tanstack/react-query';
import { type Answer, answered, api } from './api.ts';
import { useGet } from './queries.ts';
import {
  addressOf,
  alarmsAsked,
  DAY_MS,
  type Grain,
  HOUR_MS,
  seriesAsked,
  SHOWN,
} from './asked.ts';

type Series = Answer<'/api/series', 'get'>;
type Row = Series['rows'][number];

/** Counts again so often; what happens is shown at once beside them. */
const LOOK_EVERY_MS = 15_000;

export interface Figures {
  /** Oldest first, each with the same time of the week before. */
  times: { at: string; now: Counts; before: Counts }[];
  now: Counts;
  before: Counts;
  /** The time zone of the days. */
  zone: string;
}

type Counts = ReturnType<typeof countsOf>;

function countsOf(rows: readonly Row[]) {
  const sum = (of: (row: Row) => number | undefined) =>
    rows.reduce((all, row) => all + (of(row) ?? 0), 0);
  return {
    accepted: sum(({ accepted }) => accepted),
    created: sum(({ created }) => created),
    updated: sum(({ updated }) => updated),
    held: sum(({ held }) => held),
    refused: sum(({ refused }) => Object.values(refused ?? {}).reduce((all, n) => all + n, 0)),
    delivered: sum(({ delivered }) => delivered),
  };
}

/** What came in the last hours or days, beside the same of a week before. */
export function useFigures(workspaceId: string, grain: Grain, linkId?: string) {
  return useQuery({
    queryKey: ['series', workspaceId, grain, linkId],
    queryFn: async () => {
      const now = Date.now();
      const asked = seriesAsked(workspaceId, grain, now).map((query) =>
        api.get('/api/series', { query: { ...query, ...(linkId !== undefined && { linkId }) } }),
      );
      return figuresOf(await Promise.all(asked), grain, now);
    },
    initialData() {
      if (linkId !== undefined) return undefined;
      const now = Date.now();
      const asked = seriesAsked(workspaceId, grain, now);
      const series = answered<Series>(
        ...asked.map((query) => ({ url: addressOf('/api/series', query), body: '' })),
      );
      return series && figuresOf(series, grain, now);
    },
    refetchInterval: LOOK_EVERY_MS,
  });
}

function figuresOf(series: readonly Series[], grain: Grain, now: number): Figures {
  const zone = series[0]?.zone ?? 'UTC';
  const all = series.flatMap(({ rows }) => rows);
  const rowsOf = (time: string) => all.filter(({ at }) => at === time);
  const week = grain === 'hour' ? 7 * 24 : 7;
  const times = Array.from({ length: SHOWN[grain] }, (_, n) => SHOWN[grain] - 1 - n).map((ago) => {
    const at = timeOf(grain, zone, now, ago);
    return { at, now: rowsOf(at), before: rowsOf(timeOf(grain, zone, now, ago + week)) };
  });
  return {
    zone,
    times: times.map(({ at, now, before }) => ({
      ...{ at, now: countsOf(now), before: countsOf(before) },
    })),
    now: countsOf(times.flatMap((time) => time.now)),
    before: countsOf(times.flatMap((time) => time.before)),
  };
}

/** As the API names the time that was so many hours or days ago. */
function timeOf(grain: Grain, zone: string, now: number, ago: number): string {
  if (grain === 'hour')
    return new Date(Math.floor(now / HOUR_MS) * HOUR_MS - ago * HOUR_MS).toISOString();
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(now);
  return new Date(Date.parse(today) - ago * DAY_MS).toISOString().slice(0, 10);
}

/** What was refused in the last seven days, by the code that was answered, most first. */
export function useRefused(workspaceId: string) {
  return useQuery({
    queryKey: ['series', workspaceId, 'code'],
    queryFn: async () => {
      const from = new Date(Date.now() - 7 * DAY_MS).toISOString();
      const query = { workspaceId, by: 'code' as const, from };
      const { rows } = await api.get('/api/series', { query });
      return rows.flatMap(({ code, n }) => (code && n ? [{ code, n }] : []));
    },
    refetchInterval: LOOK_EVERY_MS,
  });
}

/** Whether all that was accepted in the hours that are shown is accounted for. */
export function useLedger(workspaceId: string) {
  return useQuery({
    queryKey: ['ledger', workspaceId],
    queryFn: () => {
      const since = new Date(Date.now() - (SHOWN.hour - 1) * HOUR_MS).toISOString();
      return api.get('/api/ledger', { query: { workspaceId, since } });
    },
    refetchInterval: 4 * LOOK_EVERY_MS,
  });
}

/** Alarms that are open. */
export function useAlarms(workspaceId: string, ofAll: boolean) {
  return useQuery({
    queryKey: ['alarms', workspaceId, ofAll],
    queryFn: async () => {
      const query = alarmsAsked(workspaceId, ofAll);
      return api.get('/api/alarms', { query });
    },
    initialData() {
      const url = addressOf('/api/alarms', alarmsAsked(workspaceId, ofAll));
      return answered<Alarm[]>({ url, body: '' })?.[0];
    },
    select: (alarms) => alarms.filter((one) => [workspaceId, null].includes(one.workspaceId)),
    refetchInterval: LOOK_EVERY_MS,
  });
}
export type Alarm = Answer<'/api/alarms', 'get'>[number];

/** The queue is of all workspaces: who has a role for one of them does not see it. */
export function useQueue(sees: boolean, everyMs = LOOK_EVERY_MS) {
  return useGet('/api/queue', { refetchInterval: everyMs, enabled: sees });
}

/** What waits for the endpoints of a workspace; they are shown to operators. */
export function useBacklog(workspaceId: string, sees: boolean) {
  return useQuery({
    queryKey: ['backlog', workspaceId],
    queryFn: async () => {
      const endpoints = await api.get('/api/endpoints', { query: { workspaceId } });
      const stats = await Promise.all(
        endpoints.map(({ id: endpointId }) =>
          api.get('/api/endpoints/{endpointId}/stats', { path: { endpointId } }),
        ),
      );
      return {
        endpoints: endpoints.length,
        waiting: stats.reduce((sum, { waiting }) => sum + waiting, 0),
        setAside: stats.reduce((sum, { setAside }) => sum + setAside, 0),
      };
    },
    refetchInterval: LOOK_EVERY_MS,
    enabled: sees,
  });
}
