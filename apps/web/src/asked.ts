import type { paths } from './generated/api.ts';
import { filterOf, type LeadFilter } from './lead-filter.ts';

type Query<P extends '/api/series' | '/api/alarms'> = NonNullable<
  paths[P]['get']['parameters']['query']
>;

export const GRAINS = ['hour', 'day'] as const;
export type Grain = (typeof GRAINS)[number];

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
/** How many times of a grain the overview shows. */
export const SHOWN = { hour: 24, day: 14 } as const;

export const grainOf = (params: URLSearchParams): Grain =>
  GRAINS.find((one) => one === params.get('by')) ?? 'hour';

/** What the overview asks for its chart, the same for an hour: what is shown, and what that is compared with. */
export function seriesAsked(workspaceId: string, by: Grain, now: number): Query<'/api/series'>[] {
  const hour = Math.floor(now / HOUR_MS) * HOUR_MS;
  const at = (ago: number) => new Date(hour - ago).toISOString();
  // Of days both are one range; one with a change of the clock has 23 hours.
  if (by === 'day') return [{ workspaceId, by, from: at((SHOWN.day + 7) * DAY_MS) }];
  return [0, 7 * DAY_MS].map((ago) => ({
    ...{ workspaceId, by },
    ...{ from: at(ago + (SHOWN.hour - 1) * HOUR_MS), to: at(ago - HOUR_MS) },
  }));
}

/** Alarms of the workspace, or of the installation for who sees all of it. */
export const alarmsAsked = (workspaceId: string, ofAll: boolean): Query<'/api/alarms'> =>
  ofAll ? {} : { workspaceId };

/** What a list of leads asks for, page after page. */
export const leadsAsked = (filter: LeadFilter, after: string | null) => ({
  ...filter,
  ...{ limit: 50, ...(after !== null && { after }) },
});

const LOOKED_AT = 'leadgate.workspace';

/** Keeps which workspace is looked at. */
export const keepLookedAt = (workspaceId: string): void =>
  localStorage.setItem(LOOKED_AT, workspaceId);

/** The workspace that is looked at: of the address, else the last one that was. */
export function lookedAt<W extends { id: string }>(all: readonly W[], params: URLSearchParams) {
  const wanted = [params.get('workspace'), localStorage.getItem(LOOKED_AT)];
  return wanted.map((id) => all.find((one) => one.id === id)).find(Boolean) ?? all[0];
}

/** A text that names a person and stands in no address is kept under this, as long as the tab is open. */
export const unaddressedKey = (name: 'search' | 'value', workspaceId: string): string =>
  `leadgate.${name}.${workspaceId}`;

/** A request that a page makes first. */
export interface Asked {
  url: string;
  /** Of a POST. */
  body: string;
}

/** An address of the API with its query, as the page itself asks for it. */
export function addressOf(path: string, query: object): string {
  const text = new URLSearchParams(Object.entries(query)).toString();
  return text === '' ? path : `${path}?${text}`;
}

/** What the page of an address asks for before it is of use. */
export function askedFirst(
  { pathname, search }: Pick<URL, 'pathname' | 'search'>,
  { me, workspaces }: Answered,
): Asked[] {
  const params = new URLSearchParams(search);
  const workspace = lookedAt(workspaces ?? [], params);
  if (me === undefined || workspace === undefined) return [];
  const get = (path: string, query: object): Asked => ({ url: addressOf(path, query), body: '' });
  if (pathname === '/')
    return [
      ...seriesAsked(workspace.id, grainOf(params), Date.now()).map((query) =>
        get('/api/series', query),
      ),
      get('/api/alarms', alarmsAsked(workspace.id, me.role !== null)),
    ];
  const texts = (['search', 'value'] as const).map((name) => unaddressedKey(name, workspace.id));
  if (
    pathname === '/leads' &&
    !texts.some((key) => /[^"]/.test(sessionStorage.getItem(key) ?? ''))
  ) {
    const body = JSON.stringify(leadsAsked(filterOf(params, ''), null));
    return [{ url: `/api/workspaces/${workspace.id}/leads/search`, body }];
  }
  return [];
}

type Ok<P extends '/api/me' | '/api/workspaces'> =
  paths[P]['get']['responses'][200]['content']['application/json'];

/** What the console answered in the page that it sent, so that the application need not ask for it. */
export interface Answered {
  me?: Ok<'/api/me'>;
  workspaces?: Ok<'/api/workspaces'>;
  /** On the sign-in page: whether there is no operator yet. */
  first?: boolean;
}

/** A request that is on its way; `data`: what came of it, as soon as all of it is there. */
interface Begun extends Asked {
  answer: Promise<Response>;
  data?: unknown;
}

declare global {
  /** What the page holds, and what it asked for before the application was there. */
  var leadgate: { answered: Answered; begun: Begun[] };
}
