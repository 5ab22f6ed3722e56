import { awaitRedis, connectRedis } from '@leadgate/boot';
import { closedWorkspaces, openWorkspace } from '@leadgate/intake';
import { openStore, refillSource } from '@leadgate/store';
import { startRedisServer, testDatabase } from '@leadgate/testkit';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { createCloses, makeWorkspace, workerUnderTest } from '../../test/worker.ts';

const closes = createCloses();
afterEach(closes.all);

const WORKSPACES = 10_001;
const WORKERS = 2;
/** From when Redis, started again, answers. */
const CONFIRMED_WITHIN_MS = 10_000;
/** Longer than what Postgres lets its counts be behind. */
const WATCH_MS = 12_000;

test(`${WORKSPACES} workspaces are open soon after Redis starts again, and ${WORKERS} idle workers ask Postgres less than twice a second each`, async () => {
  const [database, server] = await Promise.all([testDatabase(), startRedisServer()]);
  closes.add('database', database.drop);
  closes.add('redis server', server.stop);
  const store = openStore({ url: database.url, poolSize: 1 });
  await makeWorkspace(store);
  await store.prisma.$executeRaw`
    INSERT INTO workspace (id, name)
    SELECT gen_random_uuid(), 'workspace ' || n FROM generate_series(2, ${WORKSPACES}) AS n`;
  const ids = await refillSource(store).workspaceIds();
  await store.close();
  expect(ids).toHaveLength(WORKSPACES);
  const redis = connectRedis(server.url, { role: 'admin' });
  closes.add('redis', () => redis.disconnect());
  await awaitRedis(redis);
  await Promise.all(ids.map((id) => openWorkspace(redis, id)));
  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  closes.add('admin', () => admin.end());

  const workers: Awaited<ReturnType<typeof workerUnderTest>>[] = [];
  for (let n = 0; n < WORKERS; n++) {
    const worker = await workerUnderTest({ databaseUrl: database.url, redisUrl: server.url });
    closes.add('worker', worker.close);
    workers.push(worker);
  }
  const logged = (text: string) =>
    vi.waitFor(() => expect(workers.some((worker) => worker.log().includes(text))).toBe(true), {
      timeout: CONFIRMED_WITHIN_MS,
      interval: 20,
    });
  await logged('"task":"refill","links":0,"confirmed":0,"workspaces":0,');
  await server.kill('SIGTERM');
  await server.restart();
  await awaitRedis(redis);
  const restarted = performance.now();
  await logged(`"confirmed":${WORKSPACES},"workspaces":0,`);
  const confirmedMs = Math.round(performance.now() - restarted);
  expect(await closedWorkspaces(redis, ids)).toEqual([]);

  const commands = async () =>
    Number(/total_commands_processed:(\d+)/.exec(await redis.info('stats'))?.[1]);
  const transactions = async () => {
    const { rows } = await admin.query<{ many: number }>(
      `SELECT (xact_commit + xact_rollback)::int AS many FROM pg_stat_database
       WHERE datname = current_database()`,
    );
    return rows[0]?.many ?? 0;
  };
  // What the start cost is counted by then.
  await delay(WATCH_MS);
  const before = await transactions();
  const [commandsBefore, started] = [await commands(), performance.now()];
  await delay(WATCH_MS);
  const asked = (await transactions()) - before;
  const rate = (asked * 1_000) / WATCH_MS / WORKERS;
  // What scripts call counts as well.
  const toRedis = (await commands()) - commandsBefore;
  const redisRate = (toRedis * 1_000) / (performance.now() - started) / WORKERS;
  process.stdout.write(
    `confirmed in ${confirmedMs} ms; ${rate.toFixed(2)} transactions and ${redisRate.toFixed(1)} Redis commands a second and worker\n`,
  );
  expect(redisRate).toBeLessThan(25);
  expect(asked).toBeGreaterThan(0);
  expect(rate).toBeLessThan(2);
}, 120_000);
