import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';

/** A subject among the others of its kind. */
interface RankRow {
  id: string;
  /** Of a link its label, of a campaign source, medium and campaign, of a source itself. */
  name: string[];
  accepted: number;
  created: number;
  updated: number;
}

/** Of a comparison: the first ones are what people look at. */
const MOST_RANKED = 200;

/** Days are compared for so long; then months are. */
export const RANKED_DAYS = 60;

/** Dates, both counted in. */
interface Days {
  from: string;
  to: string;
}

/** What is added up, or taken away. Of a month `from` and `to` are the first day. */
export interface Part extends Days {
  span: 'day' | 'month';
  sign: 1 | -1;
}

/**
 * What adds up to the counts of some of the last `RANKED_DAYS` by the fewest rows a subject: of each month its
 * days, or the month without its other days. `today`: later days have no counts.
 */
export function partsOf({ from, to, today }: Days & { today: string }): Part[] {
  const parts: Part[] = [];
  const [oldest, last] = [dayAfter(today, -RANKED_DAYS), earlier(to, today)];
  for (let month = monthOf(from); month.from <= last; month = monthOf(dayAfter(month.to, 1))) {
    const own = { from: later(from, month.from), to: earlier(last, month.to) };
    const others = [
      { from: month.from, to: dayAfter(own.from, -1) },
      { from: dayAfter(own.to, 1), to: earlier(month.to, today) },
    ].filter((days) => lengthOf([days]) > 0);
    const isWhole = others.length === 0;
    if (isWhole || (month.from >= oldest && lengthOf(others) + 1 < lengthOf([own]))) {
      parts.push({ span: 'month', from: month.from, to: month.from, sign: 1 });
      for (const days of others) parts.push({ span: 'day', ...days, sign: -1 });
    } else parts.push({ span: 'day', ...own, sign: 1 });
  }
  return parts;
}

const DAY_MS = 86_400_000;

/** The day so many days after another. */
export const dayAfter = (day: string, days: number): string =>
  new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);

const earlier = (a: string, b: string): string => (a < b ? a : b);
const later = (a: string, b: string): string => (a > b ? a : b);

const lengthOf = (ranges: readonly Days[]): number =>
  ranges.reduce((sum, { from, to }) => sum + (Date.parse(to) - Date.parse(from)) / DAY_MS + 1, 0);

function monthOf(day: string): Days {
  const from = `${day.slice(0, 7)}-01`;
  return { from, to: dayAfter(`${dayAfter(from, 31).slice(0, 7)}-01`, -1) };
}

/** Compares the subjects of a workspace by what some days or months add up to: most leads first. */
export async function rankSubjects(
  store: Store,
  {
    workspaceId,
    kind,
    parts,
  }: { workspaceId: string; kind: 'link' | 'campaign' | 'source'; parts: readonly Part[] },
): Promise<RankRow[]> {
  if (parts.length === 0) return [];
  const counts = parts.map(({ span, from, to, sign }) => {
    const columns = ['accepted', 'created', 'updated'].map((name) =>
      Prisma.raw(sign === 1 ? name : `-${name} AS ${name}`),
    );
    return Prisma.sql`
      SELECT subject, ${Prisma.join(columns)} FROM series_ranking
      WHERE workspace_id = ${workspaceId}::uuid AND kind = ${kind} AND span = ${span}
        AND at BETWEEN ${from}::date AND ${to}::date`;
  });
  return store.prisma.$queryRaw<RankRow[]>`
    WITH sums AS (
      SELECT subject, sum(accepted)::integer AS accepted, sum(created)::integer AS created,
        sum(updated)::integer AS updated
      FROM (${Prisma.join(counts, ' UNION ALL ')}) AS counts
      GROUP BY subject HAVING sum(accepted) + sum(created) + sum(updated) > 0
      ORDER BY greatest(sum(accepted), sum(created) + sum(updated)) DESC, subject
      LIMIT ${MOST_RANKED}
    )
    SELECT subject AS id, coalesce(c.utm, array_remove(ARRAY[k.label], NULL)) AS name, accepted, created, updated
    FROM sums LEFT JOIN campaign c ON c.id = subject LEFT JOIN capture_link k ON k.id = subject
    ORDER BY greatest(accepted, created + updated) DESC, subject`;
}
