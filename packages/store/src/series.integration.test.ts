import { randomUUID } from 'node:crypto';
import { testDatabase } from '@leadgate/testkit';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore, type Store } from './open-store.ts';
import { dayAfter, partsOf, RANKED_DAYS, rankSubjects } from './series.ts';

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 2 });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});

const today = fc.integer({ min: 0, max: 1_500 }).map((days) => dayAfter('2024-01-01', days));
/** Days ago: the first day, and how many there are from it. */
const range = fc.record({
  ago: fc.integer({ min: 0, max: RANKED_DAYS }),
  days: fc.integer({ min: 1, max: 32 }),
});

test('the parts of any days are those days and no other, by half of a month a month at most', () => {
  fc.assert(
    fc.property(today, range, (now, { ago, days }) => {
      const from = dayAfter(now, -ago);
      const parts = partsOf({ from, to: dayAfter(from, days - 1), today: now });
      const counted = new Map<string, number>();
      let rows = 0;
      for (const part of parts) {
        const to = part.span === 'day' ? part.to : dayAfter(nextMonth(part.from), -1);
        for (let day = part.from; day <= to; day = dayAfter(day, 1)) {
          if (day > now) continue;
          counted.set(day, (counted.get(day) ?? 0) + part.sign);
          if (part.span === 'day') rows += 1;
          // What is taken away is there: of older days there is nothing.
          if (part.sign === -1) expect(day >= dayAfter(now, -RANKED_DAYS)).toBe(true);
        }
      }
      const own = [...counted].filter(([, n]) => n !== 0);
      expect(own.map(([day]) => day).toSorted()).toEqual(
        Array.from({ length: days }, (_, n) => dayAfter(from, n)).filter((day) => day <= now),
      );
      expect(own.every(([, n]) => n === 1)).toBe(true);
      // Those up to today: the month that ends it is a whole one.
      if (from >= dayAfter(now, -31) && days > ago) expect(rows).toBeLessThanOrEqual(16);
    }),
  );
});

const nextMonth = (first: string): string => `${dayAfter(first, 31).slice(0, 7)}-01`;

test('links are compared by their days, whichever rows these are read from, and one without posts is left out', async () => {
  const workspaceId = randomUUID();
  const links = Array.from({ length: 6 }, () => randomUUID()).toSorted();
  const now = '2026-11-20';
  /** Of each link, by days ago: three numbers. */
  const postsOf = (link: number, ago: number) =>
    ago % (link + 1) === 0 ? [ago + link, 1, link] : [];
  const counts = links.flatMap((subject, link) =>
    Array.from({ length: RANKED_DAYS }, (_, ago) => ({ ago, posts: postsOf(link, ago) })).flatMap(
      ({ ago, posts: [accepted, created, updated] }) =>
        accepted === undefined || (link === 5 && ago < 40)
          ? []
          : [{ subject, ago, at: dayAfter(now, -ago), accepted, created, updated }],
    ),
  );
  for (const span of ['day', 'month'])
    await store.prisma.$executeRaw`
      INSERT INTO series_ranking
      SELECT ${workspaceId}::uuid, 'link', ${span},
        CASE ${span} WHEN 'day' THEN at ELSE date_trunc('month', at)::date END, subject,
        sum(accepted), sum(created), sum(updated)
      FROM jsonb_to_recordset(${JSON.stringify(counts)}::jsonb) AS one (
        subject uuid, at date, accepted integer, created integer, updated integer)
      GROUP BY 4, 5`;
  await fc.assert(
    fc.asyncProperty(range, async ({ ago, days }) => {
      const from = dayAfter(now, -Math.min(ago, RANKED_DAYS - 1));
      const to = dayAfter(from, days - 1);
      const own = counts.filter(({ at }) => at >= from && at <= to);
      const sum = (id: string, what: 'accepted' | 'created' | 'updated') =>
        own.reduce((all, one) => all + (one.subject === id ? (one[what] ?? 0) : 0), 0);
      const expected = links
        .filter((id) => own.some(({ subject }) => subject === id))
        .map((id) => ({
          ...{ id, name: [], accepted: sum(id, 'accepted') },
          ...{ created: sum(id, 'created'), updated: sum(id, 'updated') },
        }))
        .toSorted(
          (a, b) =>
            Math.max(b.accepted, b.created + b.updated) -
            Math.max(a.accepted, a.created + a.updated),
        );
      const parts = partsOf({ from, to, today: now });
      expect(await rankSubjects(store, { workspaceId, kind: 'link', parts })).toEqual(expected);
    }),
  );
});
