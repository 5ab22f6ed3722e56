import { readFileSync } from 'node:fs';
import { ALARM_KINDS } from '@leadgate/store';
import { forTest, startPostgresServer, startRecordingEndpoint } from '@leadgate/testkit';
import { expect, test, vi } from 'vitest';
import { post } from './leads.ts';
import { startSystem, type System } from './system.ts';

/** An alarm is looked for every 20 seconds, from what was counted a few seconds ago. */
const SOON = { timeout: 60_000, interval: 500 };

/** As the log has it, a line of JSON. */
interface Line {
  msg?: string;
  alarm?: string;
  subject?: string;
}

const sorted = (kinds: Iterable<string>) => [...new Set(kinds)].toSorted();
const EVERY_KIND = sorted(ALARM_KINDS);

test('an alarm of every kind is at every door while its cause lasts, and at none after', async () => {
  const postgres = await forTest(startPostgresServer());
  const system = await forTest(startSystem({ postgres }));
  const { workspace, code: silent, linkId: silentId } = await system.openLink({ label: 'Silent' });
  const more = (label: string) => makeLink(system, workspace, label);
  const drifting = await more('Drifting');
  const refusing = await more('Refusing');
  const missing = await more('Missing');

  const told = await forTest(startRecordingEndpoint<{ type: string; data: { kind: string } }>());
  const alarmEvents = ['--event', 'alarm.opened', '--event', 'alarm.closed'];
  await system.cli('endpoint', 'create', workspace, 'on-call', told.url, ...alarmEvents);
  let isGone = true;
  const crm = await forTest(
    startRecordingEndpoint((response) => response.writeHead(isGone ? 410 : 204).end()),
  );
  await system.cli('endpoint', 'create', workspace, 'crm', crm.url);
  await system.startDeliverer();
  const console_ = await system.startConsole();
  const { secret } = await system.cli<{ secret: string }>(
    ...['token', 'create', 'on-call', '--role', 'administrator'],
  );
  const ask = async (path: string) =>
    fetch(`${console_.url}${path}`, { headers: { authorization: `Bearer ${secret}` } });

  let person = 0;
  /** One by one: a receiver that is asked for more at once than it can do says so. */
  const postMany = async (
    to: string,
    count: number,
    change: (body: Body) => object = (one) => one,
  ) => {
    const answers = new Set<number>();
    for (let i = 0; i < count; i++) {
      const n = ++person;
      const body = change({ email: `p${n}@x.example`, name: `Person ${n}`, city: 'Recife' });
      answers.add((await post(system.receivers[0], to, body)).status);
    }
    return [...answers];
  };
  const logged = (msg: string, from: readonly number[] = []) =>
    system.workers
      .flatMap((worker, i) => worker.output().slice(from[i]).split('\n'))
      .filter((line) => line.includes('"alarm"'))
      .map((line) => JSON.parse(line) as Line)
      .flatMap((line) => (line.msg === msg ? (line.alarm ?? []) : []));

  // What each link has had for four weeks; the silent one has had nothing for half an hour.
  expect(await postMany(drifting.code, 120)).toEqual([202]);
  await postMany(refusing.code, 1);
  await postMany(missing.code, 1);
  const counted = async (linkId: string) => {
    const [row] = await system.query<{ n: number }>(
      `SELECT coalesce(sum(n), 0)::integer AS n FROM series_minute
       WHERE subject = $1 AND what IN ('created', 'updated')`,
      [linkId],
    );
    return row?.n;
  };
  await vi.waitFor(async () => expect(await counted(drifting.linkId)).toBe(120), SOON);
  await vi.waitFor(async () => expect(await counted(refusing.linkId)).toBe(1), SOON);
  await system.query(
    `WITH hours AS (
       INSERT INTO series_hour
       SELECT id::uuid, date_trunc('hour', now()) - n * interval '1 hour', 'accepted', 90
       FROM unnest($1::text[]) AS id CROSS JOIN generate_series(1, 671) AS n
       ON CONFLICT DO NOTHING), shapes AS (
       UPDATE link_shape SET shape = jsonb_set(shape, '{since}', to_jsonb(
         extract(epoch FROM now() - interval '10 days') * 1000)) WHERE link_id = $2)
     INSERT INTO series_minute
     SELECT $3::uuid, date_trunc('minute', now()) - n * interval '1 minute', 'accepted', 3
     FROM generate_series(30, 600, 2) AS n`,
    [[silentId, drifting.linkId, refusing.linkId], drifting.linkId, silentId],
  );

  // The causes: posts that came, an endpoint that is gone, a row deleted by hand, a queue that stands still.
  await postMany(drifting.code, 40, ({ email, ...rest }) => ({ ...rest, e_mail: email }));
  expect(await postMany(refusing.code, 25, () => [])).toEqual([422]);
  await system.settle();
  await system.query(
    `CREATE TABLE kept AS SELECT * FROM submission WHERE link_id = '${missing.linkId}'`,
  );
  await system.query(`DELETE FROM submission WHERE link_id = $1`, [missing.linkId]);
  await system.cli('queue', 'pause');
  await postMany(missing.code, 1);
  await ageWaiting(system, 6 * 60_000);

  const doors = {
    'leadgate alarm list': async () =>
      (await system.cli<{ kind: string }[]>('alarm', 'list')).map(({ kind }) => kind),
    'GET /api/alarms': async () =>
      ((await (await ask('/api/alarms')).json()) as { kind: string }[]).map(({ kind }) => kind),
    'GET /metrics': async () =>
      [...(await (await ask('/metrics')).text()).matchAll(OPEN_METRIC)].map(
        ([, kind = '']) => kind,
      ),
    'leadgate doctor': async () => {
      const { checks } = await system.cli<{ checks: { check: string; found: string }[] }>('doctor');
      const found = checks.find(({ check }) => check === 'alarms')?.found ?? '';
      return [...found.matchAll(/\d+ of (\w+)/g)].map(([, kind = '']) => kind);
    },
  };
  const atDoors = async () =>
    Object.fromEntries(
      await Promise.all(
        Object.entries(doors).map(async ([door, kinds]) => [door, sorted(await kinds())] as const),
      ),
    );
  const events = (type: string) =>
    sorted(
      told.messages.flatMap(({ content }) => (content.type === type ? content.data.kind : [])),
    );
  const everywhere = (kinds: readonly string[]) =>
    Object.fromEntries(Object.keys(doors).map((door) => [door, kinds]));

  await vi.waitFor(async () => expect(await doors['GET /api/alarms']()).toHaveLength(6), SOON);
  expect(await atDoors()).toEqual(everywhere(EVERY_KIND));
  expect(sorted(logged('alarm opened'))).toEqual(EVERY_KIND);
  await vi.waitFor(() => expect(events('alarm.opened')).toEqual(EVERY_KIND), SOON);

  // Each cause ends.
  await system.cli('queue', 'resume');
  isGone = false;
  await system.cli('endpoint', 'resume', 'crm');
  await postMany(silent, 1);
  await postMany(drifting.code, 60);
  await postMany(refusing.code, 60);
  await system.query('INSERT INTO submission SELECT * FROM kept');
  await vi.waitFor(async () => expect(await doors['GET /api/alarms']()).toEqual([]), SOON);
  expect(await atDoors()).toEqual(everywhere([]));
  expect(sorted(logged('alarm closed'))).toEqual(EVERY_KIND);
  await vi.waitFor(() => expect(events('alarm.closed')).toEqual(EVERY_KIND), SOON);

  // Without Postgres the log tells what Redis alone does.
  await system.cli('queue', 'pause');
  await postMany(missing.code, 1);
  await postgres.kill();
  const before = system.workers.map((worker) => worker.output().length);
  await ageWaiting(system, 6 * 60_000);
  await postMany(refusing.code, 200, () => []);
  const opened = () => logged('alarm opened', before).toSorted();
  await vi.waitFor(() => expect(opened()).toEqual(['queue', 'refusals']), SOON);
}, 240_000);

test('the runbook has a paragraph on an alarm of every kind', () => {
  const runbook = readFileSync(new URL('../docs/operations.md', import.meta.url), 'utf8');
  const [, section = ''] = runbook.split('### An alarm is open');
  const named = [...(section.split('\n#')[0] ?? '').matchAll(/^- \*\*(\w+)\*\*:/gm)];
  expect(sorted(named.map(([, kind = '']) => kind))).toEqual(EVERY_KIND);
});

const OPEN_METRIC = /^leadgate_alarms_open\{(?:.*,)?kind="(\w+)".*\} [1-9]/gm;

interface Body {
  email: string;
  name: string;
  city: string;
}

async function makeLink(system: System, workspace: string, label: string) {
  const link = await system.cli<{ id: string; codes: { code: string }[] }>(
    ...['link', 'create', workspace, '--label', label],
  );
  return { linkId: link.id, code: link.codes[0]?.code ?? '' };
}

/** Has what waits have come so much earlier. */
async function ageWaiting({ redis }: System, ms: number): Promise<void> {
  const queue = 'leadgate:{leads-0}';
  const waiting = await redis.lrange(`${queue}:wait`, 0, -1);
  expect(waiting.length).toBeGreaterThan(0);
  for (const id of waiting) await redis.hset(`${queue}:${id}`, 'timestamp', Date.now() - ms);
}
