import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { queueCounts } from '@leadgate/queue';
import { startPostgresServer, startRedisServer, type OwnServer } from '@leadgate/testkit';
import { signalAll } from '../chaos/src/faults.ts';
import { startSystem, type System } from './system.ts';

const SHUTDOWN_TIMEOUT_MS = 1_000;
/** Of a worker's own limits together; docs/reliability.md names them. */
const STOPS_WITHIN_MS = SHUTDOWN_TIMEOUT_MS + 9_000;

let redis: OwnServer;
let postgres: OwnServer;
let system: System;
let code: string;
let posts = 0;
beforeAll(async () => {
  [redis, postgres] = await Promise.all([startRedisServer(), startPostgresServer()]);
  system = await startSystem({
    redis,
    postgres,
    workerEnv: { JOB_LOCK_MS: '1000', SHUTDOWN_TIMEOUT_MS: SHUTDOWN_TIMEOUT_MS.toString() },
  });
  ({ code } = await system.openLink());
}, 60_000);
afterAll(async () => {
  await system?.stop();
  await Promise.all([redis?.stop(), postgres?.stop()]);
}, 60_000);

test.each([
  ['Redis is killed', () => redis.kill('SIGKILL'), () => redis.restart()],
  [
    'Postgres hangs',
    async () => signalAll(postgres.pid, 'SIGSTOP'),
    async () => signalAll(postgres.pid, 'SIGCONT'),
  ],
])(
  '%s: a receiver and a worker that holds jobs stop in bounded time, with 0, and nothing is lost',
  async (_, begin, end) => {
    const unblock = await block();
    const accepted = await post(20);
    await expect
      .poll(async () => (await queueCounts(system.redis)).active, { timeout: 10_000 })
      .toBeGreaterThan(0);
    await begin();
    const start = performance.now();
    const stopped = await Promise.all([
      system.receivers[0]?.member.stop(),
      system.workers[0]?.stop(),
    ]);
    const took = performance.now() - start;
    await end();
    await unblock();
    expect(stopped, system.workers[0]?.output()).toEqual([0, 0]);
    expect(took).toBeLessThan(STOPS_WITHIN_MS);
    system.receivers.pop();
    system.workers.pop();
    await Promise.all([system.startReceiver(), system.startWorker()]);
    await system.settle(60_000);
    const stored = await system.query<{ id: string }>(
      'SELECT id FROM submission WHERE id = ANY($1)',
      [accepted],
    );
    expect(stored).toHaveLength(accepted.length);
  },
  90_000,
);

/** Leads cannot be written until what is returned is called, or Postgres has ended the session. */
async function block(): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: postgres.url });
  client.on('error', () => undefined);
  await client.connect();
  await client.query('BEGIN');
  await client.query('LOCK TABLE lead IN EXCLUSIVE MODE');
  return () => client.end().catch(() => undefined);
}

async function post(many: number): Promise<string[]> {
  const url = `${system.receivers[0]?.url}/ingest/${code}`;
  const answers = await Promise.all(
    Array.from({ length: many }, () =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email: `held-${posts++}@example.com` }),
      }),
    ),
  );
  return answers.flatMap(({ status, headers }) =>
    status === 202 ? [headers.get('submission-id') ?? ''] : [],
  );
}
