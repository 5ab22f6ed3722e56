import { afterAll, beforeAll, expect, test } from 'vitest';
import { queueCounts } from '@leadgate/queue';
import { startPostgresServer, startRedisServer, type OwnServer } from '@leadgate/testkit';
import { signalAll } from '../chaos/src/faults.ts';
import { lockLeads, post } from './leads.ts';
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
    const unlock = await lockLeads(postgres.url);
    const accepted = await postMany(20);
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
    await unlock();
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

async function postMany(many: number): Promise<string[]> {
  const answers = await Promise.all(
    Array.from({ length: many }, () =>
      post(system.receivers[0], code, { email: `held-${posts++}@example.com` }),
    ),
  );
  return answers.flatMap(({ status, submissionId }) => (status === 202 ? [submissionId] : []));
}
