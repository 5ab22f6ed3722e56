import { randomUUID } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectRedis, type RedisConnection } from '@leadgate/boot';
import type { Submission } from '@leadgate/contract';
import { openSpool, openWorkspace, spoolFolders, type Spool } from '@leadgate/intake';
import { queueCounts } from '@leadgate/queue';
import { sampleSubmission, testRedis } from '@leadgate/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { run } from './run.ts';

let server: Awaited<ReturnType<typeof testRedis>>;
let redis: RedisConnection;
let directory: string;

beforeAll(async () => {
  server = await testRedis();
  redis = connectRedis(server.url, { role: 'admin' });
});
afterAll(() => redis.disconnect());
beforeEach(() => void (directory = mkdtempSync(join(tmpdir(), 'leadgate-spool-'))));
afterEach(async () => {
  rmSync(directory, { recursive: true, force: true });
  await server.flush();
});

async function leadgate(...argv: string[]) {
  const ran = { status: -1, out: '', err: '' };
  ran.status = await run(argv, {
    out: (text) => void (ran.out += text),
    err: (text) => void (ran.err += text),
    env: { REDIS_URL: server.url },
    cwd: directory,
  });
  return ran;
}

const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** A receiver's spool with leads of a workspace. */
async function spoolWith(workspaceId: string, count: number): Promise<[Spool, Submission[]]> {
  const spool = await openSpool(directory, { maxBytes: 2 ** 24, logger });
  const submissions = Array.from({ length: count }, (_, n) =>
    sampleSubmission(n, { workspaceId, leadId: randomUUID() }),
  );
  for (const submission of submissions) await spool.append({ submission, reserved: false });
  return [spool, submissions];
}

test('a folder left behind is listed, without a name in it, then drained and removed', async () => {
  const workspaceId = randomUUID();
  await openWorkspace(redis, workspaceId);
  const [spool, submissions] = await spoolWith(workspaceId, 3);
  await spool.close();
  const listed = await leadgate('spool', 'list', '.');
  expect(listed).toMatchObject({ status: 0, err: '' });
  expect(listed.out).toMatch(/FOLDER +WAITING +OLDEST +DAMAGED\n\S+spool-\S+ +3 +2026-\S+/);
  const { out } = await leadgate('spool', 'list', '.', '--json');
  expect(JSON.parse(out)).toMatchObject([
    { inUse: false, waiting: submissions.map(({ id, leadId }) => ({ submissionId: id, leadId })) },
  ]);
  expect(out).not.toContain('maria');
  const [folder = ''] = spoolFolders(directory);
  const drained = await leadgate('spool', 'drain', folder);
  expect(drained.status).toBe(0);
  // Nothing says where Postgres is here: in such a night a spool is drained all the same.
  expect(drained.err).toContain('not in the audit log');
  expect(drained.out).toBe(`${folder}: 3 leads handed to Redis.\n`);
  expect((await queueCounts(redis)).waiting).toBe(3);
  expect(spoolFolders(directory)).toEqual([]);
});

test('a folder whose receiver runs is not touched', async () => {
  const workspaceId = randomUUID();
  await openWorkspace(redis, workspaceId);
  const [spool] = await spoolWith(workspaceId, 1);
  const [folder = ''] = spoolFolders(directory);
  const ran = await leadgate('spool', 'drain', folder);
  expect(ran).toMatchObject({ status: 1, out: '' });
  expect(ran.err).toBe(
    `leadgate: ${folder} is in use: its receiver runs, and drains it by itself.\n`,
  );
  expect((await leadgate('spool', 'list', '.')).out).toContain('in use');
  expect(spool.status().waiting).toBe(1);
  await spool.close();
});

test('leads of a workspace that is being refilled stay, and it is said what to do', async () => {
  const [spool] = await spoolWith(randomUUID(), 2);
  await spool.close();
  const ran = await leadgate('spool', 'drain', '.');
  expect(ran.status).toBe(1);
  expect(ran.err).toContain('2 leads stay in the spool');
  expect(JSON.parse((await leadgate('spool', 'list', '.', '--json')).out)).toMatchObject([
    { waiting: [{}, {}] },
  ]);
});

test('a damaged folder is drained of what is whole, and what is not is kept in it', async () => {
  const workspaceId = randomUUID();
  await openWorkspace(redis, workspaceId);
  const [spool] = await spoolWith(workspaceId, 2);
  await spool.close();
  const [folder = ''] = spoolFolders(directory);
  const [segment = ''] = readdirSync(folder).filter((name) => name.endsWith('.segment'));
  const file = join(folder, segment);
  writeFileSync(file, readFileSync(file).fill(0, 0, 40));
  expect((await leadgate('spool', 'list', '.')).out).toMatch(/spool-\S+ +1 +2026-\S+ \S+ +1\n/);
  const ran = await leadgate('spool', 'drain', '.');
  expect(ran.status).toBe(0);
  expect(ran.out).toContain('1 lead handed to Redis, 1 damaged set aside in it.');
  expect((await queueCounts(redis)).waiting).toBe(1);
  expect((await leadgate('spool', 'list', '.')).out).toMatch(/spool-\S+ +0 +- +1\n/);
});

test('a path without a spool is named, and nothing is made in it', async () => {
  const ran = await leadgate('spool', 'list', 'nowhere');
  expect(ran).toMatchObject({ status: 2, out: '' });
  expect(ran.err).toContain(`There is no spool at ${join(directory, 'nowhere')}`);
});
