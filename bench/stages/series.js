import { request } from 'undici';
import { atMost, percentile, spread } from '../figures.js';
import { query } from '../servers.js';
import { byTurns, startConsole } from './bench.js';

/** @typedef {import('./bench.js').Bench} Bench */

/** Milliseconds that 99 of 100 answers may take. */
const AT_MOST = 200;
const DAY_MS = 86_400_000;

/**
 * How the links of a large workspace post: few in every hour for two years, some in one of so many hours, most
 * in a few hours of a campaign that ended.
 */
const LINKS = [
  { share: 0.001, everyHours: 1, days: 730, whats: 5 },
  { share: 0.1, everyHours: 20, days: 730, whats: 4 },
  { share: 0.899, everyHours: 24, days: 20, whats: 3 },
];
const WHATS = ['accepted', 'created', 'updated', 'refused:invalid-lead', 'speed:5m'];
const CAMPAIGNS = 2_500;

/**
 * The API's answers over series of two years, from a console as it runs in production, while the tables hold
 * what a workspace of many links has left there. No series reads a lead: the plans say so.
 * @param {Bench} bench
 */
export async function measure(bench) {
  const { plan, leadgate, say } = bench;
  const { database } = leadgate;
  const rows = await fill(database, plan.series.links);
  say(
    `  ${plan.series.links.toLocaleString('en')} links, two years of hours in which they posted: ` +
      Object.entries(rows)
        .map(([table, n]) => `${n.toLocaleString('en')} rows of ${table}`)
        .join(', '),
  );
  const plans = await explain(database);
  for (const [name, text] of Object.entries(plans)) say(`  ${name}: ${text}`);
  const app = await startConsole(bench, { role: 'viewer' });
  try {
    const asked = await questions(database);
    const variants = Object.fromEntries(
      asked.map(({ name, search }) => [
        name,
        async () => {
          const { workspaceId } = database;
          const url = `${app.url}/api/series?${new URLSearchParams({ ...search, workspaceId }).toString()}`;
          const before = performance.now();
          const { statusCode, body } = await request(url, {
            headers: { authorization: `Bearer ${app.token}` },
          });
          const text = await body.text();
          if (statusCode !== 200) throw new Error(`${url}: ${statusCode.toString()} ${text}`);
          return performance.now() - before;
        },
      ]),
    );
    // The first of each finds nothing in memory.
    await byTurns(1, variants);
    const times = await byTurns(plan.series.rounds, variants);
    const p99 = percentile(Object.values(times).flat(), 0.99);
    const byQuestion = Object.entries(times).map(([name, own]) => ({
      ...{ name, ms: spread(own), p99: percentile(own, 0.99) },
    }));
    for (const { name, ms, p99: own } of byQuestion)
      say(`  ${name}: median ${ms.median.toFixed(0)} ms, p99 ${own.toFixed(0)} ms`);
    say(`  p99 of all ${p99.toFixed(0)} ms (${atMost(p99, AT_MOST)})`);
    return { links: plan.series.links, rows, plans, p99, atMost: AT_MOST, byQuestion };
  } finally {
    await app.stop();
  }
}

/** @typedef {import('../servers.js').Database} Database */

/**
 * Fills the tables in which counts are kept, by the rules of `LINKS`; returns how many rows they have.
 * @param {Database} database
 * @param {number} links
 */
async function fill({ url, workspaceId }, links) {
  const run = (/** @type {string} */ sql) => query(url, sql);
  const whats = (/** @type {number} */ n) =>
    `unnest(ARRAY[${WHATS.slice(0, n)
      .map((what) => `'${what}'`)
      .join(',')}]) AS what`;
  const busiest = { everyHours: 1, days: 730, whats: 5 };
  const hours = ({ everyHours, days, whats: n } = busiest) => `
    INSERT INTO series_hour
    SELECT id, date_trunc('hour', now()) - h * interval '1 hour', what, 1 + h % 50
    FROM bench_subject CROSS JOIN generate_series(bench_subject.n % ${everyHours}, ${days * 24}, ${everyHours}) AS h
    CROSS JOIN ${whats(n)}`;
  await run(`CREATE TABLE bench_subject (id uuid, kind text, n integer)`);
  await run(
    `INSERT INTO bench_subject SELECT '${workspaceId}'::uuid, 'workspace', 0;
     ${hours()};
     INSERT INTO series_minute SELECT id, date_trunc('minute', now()) - m * interval '1 minute', what, 3
       FROM bench_subject CROSS JOIN generate_series(1, 2880) AS m CROSS JOIN ${whats(5)};
     TRUNCATE bench_subject`,
  );
  for (const rule of LINKS) {
    const n = Math.max(1, Math.round(rule.share * links));
    await run(
      `INSERT INTO bench_subject SELECT gen_random_uuid(), 'link', n FROM generate_series(1, ${n.toString()}) AS n;
       INSERT INTO capture_link (id, workspace_id, label)
         SELECT id, '${workspaceId}'::uuid, 'Link ' || n FROM bench_subject;
       ${hours(rule)};
       TRUNCATE bench_subject`,
    );
  }
  const campaigns = Math.max(1, Math.round((CAMPAIGNS * links) / 10_000));
  await run(
    `INSERT INTO bench_subject SELECT gen_random_uuid(), 'campaign', n FROM generate_series(1, ${campaigns.toString()}) AS n;
     INSERT INTO campaign SELECT id, '${workspaceId}'::uuid, kind, ARRAY['google', 'cpc', 'Campaign ' || n] FROM bench_subject;
     ${hours({ everyHours: 24, days: 90, whats: 3 })}`,
  );
  await run(
    `INSERT INTO series_day
       SELECT subject, at::date, what, sum(n) FROM series_hour GROUP BY 1, 2, 3
       ON CONFLICT DO NOTHING;
     INSERT INTO series_ranking
       SELECT '${workspaceId}'::uuid, CASE WHEN c.id IS NULL THEN 'link' ELSE 'campaign' END, span,
         CASE span WHEN 'day' THEN at ELSE date_trunc('month', at)::date END AS of, subject,
         coalesce(sum(n) FILTER (WHERE what = 'accepted'), 0),
         coalesce(sum(n) FILTER (WHERE what = 'created'), 0),
         coalesce(sum(n) FILTER (WHERE what = 'updated'), 0)
       FROM series_day LEFT JOIN campaign c ON c.id = subject
         CROSS JOIN (VALUES ('day'), ('month')) AS spans (span)
       WHERE what IN ('accepted', 'created', 'updated') AND subject <> '${workspaceId}'
         AND (span = 'month' OR at > now() - interval '2 months')
       GROUP BY 1, 2, 3, 4, 5 ON CONFLICT DO NOTHING;
     DROP TABLE bench_subject`,
  );
  await run('VACUUM ANALYZE');
  /** @type {Record<string, number>} */
  const rows = {};
  for (const table of ['series_hour', 'series_day', 'series_minute', 'series_ranking'])
    rows[table] = Number((await run(`SELECT count(*) AS n FROM ${table}`)).rows[0]?.n);
  return rows;
}

/**
 * Every kind of series, over the longest range that it may be asked for, and over those that people look at.
 * @param {Database} database
 * @returns {Promise<{ name: string, search: Record<string, string> }[]>}
 */
async function questions({ url, workspaceId }) {
  const busiest = await query(
    url,
    `SELECT subject FROM series_hour WHERE subject <> '${workspaceId}' GROUP BY 1 ORDER BY count(*) DESC LIMIT 1`,
  );
  const campaign = await query(url, `SELECT id FROM campaign LIMIT 1`);
  const linkId = String(busiest.rows[0]?.subject);
  const campaignId = String(campaign.rows[0]?.id);
  const since = (/** @type {number} */ days) => new Date(Date.now() - days * DAY_MS).toISOString();
  return [
    { name: 'workspace by minute, two days', search: { by: 'minute', from: since(1.99) } },
    { name: 'workspace by hour, a day', search: { by: 'hour' } },
    { name: 'workspace by hour, 30 days', search: { by: 'hour', from: since(30) } },
    { name: 'workspace by hour, 100 days', search: { by: 'hour', from: since(99.9) } },
    {
      name: 'link by hour, 100 days two years ago',
      search: { by: 'hour', from: since(730), to: since(631), linkId },
    },
    { name: 'workspace by day, two years', search: { by: 'day', from: since(730) } },
    { name: 'link by day, two years', search: { by: 'day', from: since(730), linkId } },
    { name: 'campaign by day, two years', search: { by: 'day', from: since(730), campaignId } },
    { name: 'by code, two years', search: { by: 'code', from: since(730) } },
    { name: 'links compared, 30 days', search: { by: 'link' } },
    {
      name: 'links compared, 30 days up to two weeks ago',
      search: { by: 'link', from: since(44), to: since(14) },
    },
    { name: 'links compared, two years', search: { by: 'link', from: since(730) } },
    { name: 'campaigns compared, two years', search: { by: 'campaign', from: since(730) } },
    { name: 'sources compared, 30 days', search: { by: 'source' } },
  ];
}

/**
 * The plans of the two statements, a line each.
 * @param {Database} database
 */
async function explain({ url, workspaceId }) {
  const plan = async (/** @type {string} */ sql) => {
    const { rows } = await query(url, `EXPLAIN ${sql}`);
    return rows
      .map((row) => String(row['QUERY PLAN']).trim())
      .filter((line) => /Scan|Sort|Aggregate/.test(line))
      .map((line) => line.replace(/ {2}\(cost.*/, ''))
      .join(' < ');
  };
  return {
    'plan of a series': await plan(
      `SELECT at, json_object_agg(what, n) FROM series_hour WHERE subject = '${workspaceId}'
       AND at >= now() - interval '2 years' GROUP BY at`,
    ),
    'plan of a comparison': await plan(
      `SELECT subject, sum(accepted) FROM series_ranking WHERE workspace_id = '${workspaceId}' AND kind = 'link'
       AND span = 'month' AND at >= now() - interval '2 years' GROUP BY subject ORDER BY 2 DESC LIMIT 200`,
    ),
  };
}
