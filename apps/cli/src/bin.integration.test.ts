import { connectRedis } from '@leadgate/boot';
import { queueCounts } from '@leadgate/queue';
import { testDatabase, testRedis } from '@leadgate/testkit';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';

const bin = fileURLToPath(new URL('../bin/leadgate.js', import.meta.url));
const dist = fileURLToPath(new URL('../dist', import.meta.url));

interface Ran {
  status: unknown;
  out: string;
  err: string;
}

const leadgate = (file: string, argv: string[], env: Record<string, string> = {}): Promise<Ran> =>
  start(file, argv, env).ended;

function start(file: string, argv: string[], env: Record<string, string>) {
  let end: (ran: Ran) => void;
  const ended = new Promise<Ran>((resolve) => (end = resolve));
  const child = execFile(
    process.execPath,
    [file, ...argv],
    { env: { PATH: process.env['PATH'], ...env }, cwd: tmpdir() },
    (error, out, err) => end({ status: error === null ? 0 : error.code, out, err }),
  );
  return { child, ended };
}

test('what was built runs and ends by itself (needs npm run build)', async () => {
  const database = await testDatabase();
  const env = { DATABASE_URL: database.url, REDIS_URL: 'redis://127.0.0.1:1' };
  const created = await leadgate(bin, ['workspace', 'create', 'Built', '--json'], env);
  expect(created.err).toContain('stored in Postgres');
  expect(created.status).toBe(0);
  expect(JSON.parse(created.out)).toMatchObject({ name: 'Built' });
  expect(await leadgate(bin, ['nonsense'], env)).toMatchObject({ status: 2, out: '' });
  // The code that V8 made is kept beside it; what is damaged of it is made anew.
  const kept = (await readdir(dist)).filter((name) => name.endsWith('.cjs.code'));
  expect(kept).not.toEqual([]);
  for (const name of kept) await truncate(join(dist, name), 1_000);
  expect(await leadgate(bin, ['--version'], env)).toMatchObject({ status: 0, err: '' });
  const sizes = await Promise.all(kept.map(async (name) => (await stat(join(dist, name))).size));
  expect(sizes.filter((size) => size > 10_000)).not.toEqual([]);
  await database.drop();
});

test('Ctrl-C stops an import in order, says so to whoever called it, and the same command goes on', async () => {
  const database = await testDatabase();
  const redis = await testRedis();
  const client = connectRedis(redis.url, { role: 'admin' });
  const env = { DATABASE_URL: database.url, REDIS_URL: redis.url };
  const folder = await mkdtemp(join(tmpdir(), 'leadgate-bin-'));
  const file = join(folder, 'leads.csv');
  const emails = Array.from({ length: 2_000 }, (_, n) => `p${n}@example.com`);
  await writeFile(file, ['email', ...emails].join('\n'));
  await leadgate(bin, ['workspace', 'create', 'Stopped'], env);
  const made = await leadgate(bin, ['link', 'create', 'Stopped', '--json'], env);
  const { code } = JSON.parse(made.out) as { code: string };
  const argv = ['import', file, '--link', code, '--max-waiting', '1000000'];
  const waiting = async () => (await queueCounts(client)).waiting;

  const running = start(bin, [...argv, '--rate', '200/s'], env);
  await vi.waitFor(async () => expect(await waiting()).toBeGreaterThan(20), {
    timeout: 20_000,
    interval: 50,
  });
  running.child.kill('SIGINT');
  const stopped = await running.ended;
  expect(stopped).toMatchObject({ status: 130 });
  expect(stopped.err).toContain('stopped; to go on, run the same command again');
  const taken = await waiting();
  expect(taken).toBeLessThan(2_000);
  expect(stopped.out).toContain(`${taken} rows taken`);

  expect(await leadgate(bin, argv, env)).toMatchObject({ status: 0 });
  // Those of before wait twice, as no worker has stored them yet: they are applied once.
  expect(await waiting()).toBe(2_000 + taken);
  client.disconnect();
  await redis.flush();
  await database.drop();
  await rm(folder, { recursive: true });
}, 90_000);

test('what was not built says so', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'leadgate-bin-'));
  await mkdir(join(folder, 'bin'));
  await cp(bin, join(folder, 'bin', 'leadgate.mjs'));
  const ran = await leadgate(join(folder, 'bin', 'leadgate.mjs'), ['workspace', 'list']);
  expect(ran).toMatchObject({ status: 1, out: '' });
  expect(ran.err).toContain('npm start');
  await rm(folder, { recursive: true });
});
