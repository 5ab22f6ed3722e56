import { randomUUID } from 'node:crypto';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { queueCounts, readJobData } from '@leadgate/queue';
import { folderForTest, forTest, startRedisServer } from '@leadgate/testkit';
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { FILES, folderOf } from '../chaos/src/older-redis.ts';
import { withRedis } from '../scripts/servers/session.js';
import { post, storedRows } from './leads.ts';
import { type Member, type Receiver, startSystem, type System } from './system.ts';

/** In everything that the person sends: nothing else in the world says it. */
const MARK = 'zqxmarked';
const EMAIL = `${MARK}@example.com`;
const PHONE = '+55 (11) 98765-4321';
const FOUND = /zqxmarked|98765\D?4321/i;
const ERASURE_KEY = 'a key of the tests, long enough to hash';
const CONSENT_KEY = 'a key of the tests, long enough to sign with';

/** Leads of an export that does not end before it is read: more than sockets hold. */
const OTHERS = 20_000;

const marked = { email: EMAIL, telephone: PHONE, name: `${MARK} Silva`, city: MARK };

const HEADERS = {
  referer: `https://lp.example/?email=${EMAIL}`,
  'user-agent': `${MARK} agent`,
};

/** What is looked through beside Postgres, and what the console is asked about. */
interface Where {
  folders: string[];
  redisUrl: string;
  console_: { member: Member; headers: Record<string, string> };
  ids: Record<string, string>;
}

/** Everything that the stores hold, raw and read; where the person is said. */
async function search(
  system: System,
  { folders, redisUrl, console_, ids }: Where,
): Promise<string[]> {
  const hits: string[] = [];
  const look = (where: string, what: string | Buffer): void => {
    if (FOUND.test(typeof what === 'string' ? what : what.toString('latin1'))) hits.push(where);
  };
  for (const [name, row] of await storedRows(system))
    look(`table ${name}: ${row.slice(0, 200)}`, row);
  // What a statement has overwritten stands in the files until they are written anew, and as long as somebody might
  // still see it: Postgres itself looks at its samples whenever it likes, and what writes counts between its statements.
  const looking = () =>
    system.query(`SELECT query FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND (backend_xmin IS NOT NULL OR backend_xid IS NOT NULL)`);
  await expect.poll(looking, { timeout: 20_000, interval: 50 }).toEqual([]);
  await system.query('VACUUM FULL');
  await system.query('CHECKPOINT');
  const [place] = await system.query<{ folder: string }>(
    `SELECT current_setting('data_directory') || '/base/' || oid AS folder
     FROM pg_database WHERE datname = current_database()`,
  );
  await lookThrough(place?.folder ?? '', look);

  await withRedis(redisUrl, async (redis) => {
    for (const key of await redis.keys('*')) {
      look(`key ${key}`, key);
      look(`value of ${key}`, JSON.stringify(await valueOf(redis, key)));
    }
    const rewrites = async () =>
      /aof_rewrite_in_progress:1|aof_rewrite_scheduled:1/.test(await redis.info());
    await expect.poll(rewrites, { timeout: 20_000, interval: 50 }).toBe(false);
    await redis.bgrewriteaof();
    await expect.poll(rewrites, { timeout: 20_000, interval: 50 }).toBe(false);
  });
  await lookThrough(join(await folderOf({ url: redisUrl }), FILES), look);
  for (const folder of folders) await lookThrough(folder, look);
  const { member: console, headers } = console_;
  for (const path of await addressesOf(console_, ids)) {
    const answer = await fetch(`${console.url}${path}`, { headers });
    look(`the answer to ${path}`, await answer.text());
  }
  for (const member of [...system.receivers.map((one) => one.member), ...system.workers, console])
    look(`the log of a ${member.name}`, member.output());
  return hits;
}

/** Every address of the console's API that is read, about the workspace and what it has. */
async function addressesOf(
  { member, headers }: Where['console_'],
  ids: Where['ids'],
): Promise<string[]> {
  const document = await fetch(`${member.url}/api/openapi.json`, { headers });
  const { paths } = (await document.json()) as {
    paths: Record<string, { get?: { parameters?: { in: string; name: string }[] } }>;
  };
  return Object.entries(paths).flatMap(([path, { get }]) => {
    // It does not end.
    if (get === undefined || path === '/api/tail') return [];
    const asks = get.parameters?.some((one) => one.in === 'query' && one.name === 'workspaceId');
    const query = asks === true ? `?workspaceId=${ids['workspaceId']}` : '';
    return path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? randomUUID()) + query;
  });
}

async function lookThrough(
  folder: string,
  look: (where: string, what: Buffer) => void,
): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) look(`file ${path}`, await readFile(path).catch(() => Buffer.from('')));
  }
}

/** A value as text; of a job, what it carries. */
async function valueOf(redis: Redis, key: string): Promise<unknown> {
  switch (await redis.type(key)) {
    case 'hash': {
      const fields = await redis.hgetall(key);
      const data: unknown = fields['data'] === undefined ? null : JSON.parse(fields['data']);
      return { fields, carries: readJobData(data) };
    }
    case 'string':
      return redis.get(key);
    case 'list':
      return redis.lrange(key, 0, -1);
    case 'zset':
      return redis.zrange(key, '0', '-1');
    case 'set':
      return redis.smembers(key);
    case 'stream':
      return redis.xrange(key, '-', '+');
    default:
      return null;
  }
}

test('a person who came in every way is erased from every store, and nothing brings them back', async () => {
  const folder = folderForTest();
  const spools = join(folder, 'spools');
  const ledger = join(folder, 'erasures.jsonl');
  const file = join(folder, 'people.csv');
  const redis = await forTest(startRedisServer({ settings: { rdbcompression: 'no' } }));
  const erasures = { ERASURE_KEY, ERASURE_LEDGER: ledger };
  const system = await forTest(
    startSystem({
      redis,
      receiverEnv: { SPOOL_DIR: spools, CONSENT_KEY, QUEUE_SHARDS: '3' },
      workerEnv: erasures,
      cliEnv: { ...erasures, CONSENT_KEY, LEADGATE_OPERATOR: 'tests', RECEIVER_URL: 'http://r' },
    }),
  );
  const [receiver] = system.receivers;
  if (receiver === undefined) throw new Error('a receiver was asked for');
  const { code, workspace, workspaceId, linkId } = await system.openLink();
  const guarded = await system.cli<{ codes: { code: string }[] }>(
    ...['link', 'create', workspace, '--label', 'guarded', '--honeypot', 'website'],
  );
  const send = (
    lead: object,
    { to = receiver, link = code, key }: { to?: Receiver; link?: string; key?: string } = {},
  ) => post(to, link, lead, { ...HEADERS, ...(key !== undefined && { 'idempotency-key': key }) });
  const key = 'of the person';

  // Taken, from a form, merged, held, refused.
  const first = await send({ ...marked, consent: { given: true, text: 'Aceito.' } }, { key });
  const form = await send(new URLSearchParams({ email: EMAIL, name: `${MARK} form` }));
  const other = await send({ name: MARK, email: `other-${EMAIL}` });
  expect([first.status, form.status, other.status]).toEqual([202, 202, 202]);
  const held = { ...marked, website: 'https://spam.example' };
  expect((await send(held, { link: guarded.codes[0]?.code ?? '' })).status).toBe(202);
  expect((await send({ ...marked, birthday: 'no day' })).status).toBe(422);
  await system.settle();
  await system.cli('lead', 'merge', first.leadId, other.leadId);
  await writeFile(file, `email,name,time\n${EMAIL},${MARK} import,2026-01-02T03:04:05Z\n`);
  const imports = ['import', file, '--link', code, '--time-column', 'time'];
  await system.cli(...imports);

  // Taken back, by a link in a mail.
  const { url } = await system.cli<{ url: string }>('consent', 'link', form.leadId);
  const withdraw = async () => {
    const body = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
    const headers = { 'user-agent': `${MARK} mail` };
    return fetch(url.replace('http://r', receiver.url), { method: 'POST', headers, body });
  };
  expect((await withdraw()).status).toBe(200);

  // Failed, and given up.
  await system.query(
    `ALTER TABLE lead ADD CONSTRAINT no_poison CHECK (profession IS DISTINCT FROM '${MARK} poison')`,
  );
  const poisons = await Promise.all(
    [1, 2].map(() => send({ ...marked, profession: `${MARK} poison` })),
  );
  await expect
    .poll(async () => (await queueCounts(system.redis)).failed, { timeout: 60_000 })
    .toBe(2);
  await system.cli('failed', 'discard', poisons[0]?.submissionId ?? '', '--reason', 'a test');
  await system.query('ALTER TABLE lead DROP CONSTRAINT no_poison');

  // In a spool that nobody drains for now.
  await redis.kill('SIGKILL');
  const spooled = await send({ ...marked, city: `${MARK} spooled` });
  expect(spooled.status).toBe(202);
  expect((await withdraw()).status).toBe(200);
  await receiver.member.stop('SIGKILL');
  await redis.restart();
  const away = await system.startReceiver({ SPOOL_DIR: join(folder, 'empty') });
  await system.settle();

  // Waiting, under what nobody knew of the person.
  await system.cli('queue', 'pause');
  const waits = await send({ ...marked, email: `new-${EMAIL}` }, { to: away });
  expect(waits.leadId).toBe(first.leadId);
  const { secret } = await system.cli<{ secret: string }>(
    ...['token', 'create', 'tests', '--role', 'administrator'],
  );
  const headers = { authorization: `Bearer ${secret}` };
  const member = await system.startConsole({ ...erasures, CONSENT_KEY });
  const ids = { workspaceId, linkId, leadId: first.leadId, submissionId: first.submissionId };
  const where = { folders: [spools], redisUrl: redis.url, console_: { member, headers }, ids };
  const expectGone = async () => {
    const hits = await search(system, where);
    expect(hits, hits.join('; ')).toEqual([]);
  };
  const before = await search(system, where);
  for (const place of ['table lead', 'value of', 'file', 'the answer to /api/leads'])
    expect(before.some((hit) => hit.startsWith(place))).toBe(true);

  // Exported, by a reader who is slow: many others come before the person, whose page is not read yet.
  await system.query(
    `INSERT INTO lead (workspace_id, id, name, creator_id, creator_order)
     SELECT $1::uuid, id, repeat('x', 2000), id, 1 FROM (SELECT
       ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid AS id
       FROM generate_series(1, ${OTHERS}) AS n) AS made`,
    [workspaceId],
  );
  const exported = await fetch(`${member.url}/api/workspaces/${workspaceId}/leads/export`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{"format":"ndjson"}',
  });
  const reader = exported.body?.pipeThrough(new TextDecoderStream()).getReader();
  const begun = (await reader?.read())?.value ?? '';
  // Postgres looks at samples of what it has now and then.
  await system.query('ANALYZE');

  const whom = ['--email', EMAIL, '--workspace', workspace, '--reason', 'ticket 4711'];
  interface Erased {
    leadId: string;
    counts: Record<string, number>;
    inLedger: boolean;
  }
  const dry = await system.cli<Erased>('lead', 'erase', ...whom, '--dry-run');
  const erased = await system.cli<Erased>('lead', 'erase', ...whom);
  expect(erased.counts).toEqual(dry.counts);
  expect(erased).toMatchObject({ leadId: first.leadId, inLedger: true });
  expect(erased.counts).toMatchObject({ leads: 1, submissions: 5, consents: 2 });
  expect(erased.counts).toMatchObject({
    held: 1,
    rejected: 1,
    discarded: 1,
    failed: 1,
    records: 1,
  });

  let rest = begun;
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read())
    rest += part.value;
  expect([rest.split('\n').length - 1, FOUND.test(rest)]).toEqual([OTHERS, false]);
  await system.query('DELETE FROM lead WHERE name LIKE $1', ['xxx%']);

  await system.cli('queue', 'resume');
  await system.settle();
  const old = await system.startReceiver();
  await expect
    .poll(async () => (await readdir(spools)).filter((name) => name.startsWith('spool-')).length, {
      timeout: 30_000,
    })
    .toBeLessThanOrEqual(1);
  await expect
    .poll(async () => await (await fetch(`${old.url}/ready`)).text(), { timeout: 30_000 })
    .not.toContain('in the spool');
  await system.settle();
  await rm(file);
  await expectGone();

  // Everything once more.
  await writeFile(file, `email,name,time\n${EMAIL},${MARK} import,2026-01-02T03:04:05Z\n`);
  await system.cli(...imports);
  await system.cli('replay', '--workspace', workspace);
  const again = await send(
    { ...marked, consent: { given: true, text: 'Aceito.' } },
    { to: old, key },
  );
  expect(again).toMatchObject({ status: 202, leadId: first.leadId });
  await system.settle();
  await rm(file);
  await expectGone();
  expect(await readFile(ledger, 'utf8')).not.toMatch(FOUND);

  expect(await system.cli('erase', '--from-ledger')).toEqual({ known: 1, applied: 0 });

  // Ids that were answered say so; what was agreed to stays as proof.
  for (const { leadId } of [first, form, other, spooled, waits])
    await expect(system.cli('lead', 'show', leadId)).rejects.toThrow(
      /was erased: \S+ \S+ by tests: ticket 4711/,
    );
  expect(await system.cli('consent', 'list', waits.leadId)).toMatchObject([
    { action: 'withdrawn' },
    { action: 'granted', text: 'Aceito.' },
  ]);

  // And the person may come back.
  const back = await send(marked, { to: old });
  await system.settle();
  expect(back.status).toBe(202);
  expect([first, form, other, spooled, waits].map(({ leadId }) => leadId)).not.toContain(
    back.leadId,
  );
  expect(await system.cli('lead', 'show', back.leadId)).toMatchObject({
    ...{ leadId: back.leadId, erased: false, name: marked.name, submissions: 1 },
  });
}, 240_000);
