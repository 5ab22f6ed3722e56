import { describe, expect, test } from 'vitest';
import { queueCounts } from '@leadgate/queue';
import { folderForTest, forTest } from '@leadgate/testkit';
import { lockLeads, post, spoolWarnings, untilKept } from './leads.ts';
import { openRedisGate, type RedisGate } from './redis-gate.ts';
import { startSystem, type System, type SystemOptions } from './system.ts';

/** Each test kills in one of the windows of docs/architecture.md, at its very moment. */

async function start(options: SystemOptions, link?: Parameters<System['openLink']>[0]) {
  const system = await forTest(startSystem(options));
  return { system, ...(await system.openLink(link)) };
}

const gateOf = (system: System): Promise<RedisGate> => forTest(openRedisGate(system.redisUrl));

/** With one receiver, before whose Redis is a gate. */
async function startGated(link?: Parameters<System['openLink']>[0]) {
  const started = await start({ receivers: 0 }, link);
  const gate = await gateOf(started.system);
  const receiver = await started.system.startReceiver({ REDIS_URL: gate.url });
  return { ...started, gate, receiver };
}

/** What the queue's keys have in common, and no reservation has. */
const QUEUE = '{leads-0}';
const COMPLETION = '{leads-0}:completed';

const KEY = { 'idempotency-key': 'key-1' };
const ANA = { email: 'ana@example.com', telephone: '11 98765-4321', name: 'Ana' };

const stored = async (system: System) => ({
  submissions: await system.query<{ id: string; lead_id: string }>(
    'SELECT id, lead_id FROM submission ORDER BY "order"',
  ),
  leads: await system.query<{ id: string; email: string; name: string; version: string }>(
    'SELECT id, email, name, xmin::text AS version FROM lead',
  ),
});

describe('the receiver killed between', () => {
  test('reserve and enqueue: no 202; the person’s next post gets the id that was reserved, and is the only one', async () => {
    const { system, code, gate, receiver } = await startGated();
    const held = gate.holdCommand(QUEUE);
    const first = post(receiver, code, ANA, KEY).catch(() => null);
    await held;
    await receiver.member.stop('SIGKILL');
    expect(await first).toBeNull();
    expect((await queueCounts(system.redis)).waiting).toBe(0);
    expect((await stored(system)).submissions).toEqual([]);

    const next = await system.startReceiver();
    const other = await post(next, code, { email: ANA.email, city: 'Recife' });
    const again = await post(next, code, ANA, KEY);
    expect([other.status, again.status]).toEqual([202, 202]);
    expect(again.leadId).toBe(other.leadId);
    await system.settle();
    const { submissions, leads } = await stored(system);
    // The repeat is the submission that was reserved first.
    expect(submissions.map(({ id }) => id)).toEqual([again.submissionId, other.submissionId]);
    expect(leads).toMatchObject([{ id: again.leadId, email: ANA.email, name: 'Ana' }]);
  }, 90_000);

  test('enqueue and 202: the job is applied, and the sender’s retry is the same submission', async () => {
    const { system, code, gate, receiver } = await startGated();
    const held = gate.holdAnswer(QUEUE);
    const first = post(receiver, code, ANA, KEY).catch(() => null);
    await held;
    await expect.poll(async () => (await stored(system)).submissions.length).toBe(1);
    await receiver.member.stop('SIGKILL');
    expect(await first).toBeNull();

    const next = await system.startReceiver();
    const again = await post(next, code, ANA, KEY);
    expect(again.status).toBe(202);
    await system.settle();
    const { submissions, leads } = await stored(system);
    expect(submissions).toEqual([{ id: again.submissionId, lead_id: again.leadId }]);
    expect(leads).toMatchObject([{ id: again.leadId }]);
  }, 90_000);
});

describe('under its key a post stays what it was judged to be first', () => {
  const guard = { honeypot: null, minFillSeconds: 3, captcha: null };
  const QUICK = { ...ANA, _filledMs: 1_000 };
  const SLOW = { ...ANA, _filledMs: 9_000 };

  test('held, and held again though it looks good now: its email makes one lead, and no second', async () => {
    const { system, code } = await start({}, { guard });
    const [receiver] = system.receivers;
    const held = await post(receiver, code, QUICK, KEY);
    const again = await post(receiver, code, SLOW, KEY);
    expect(again).toEqual(held);
    const taken = await post(receiver, code, SLOW);
    const next = await post(receiver, code, SLOW);
    expect(next.leadId).toBe(taken.leadId);
    await system.settle();
    const { submissions, leads } = await stored(system);
    expect(submissions.map(({ id }) => id)).toEqual([taken.submissionId, next.submissionId]);
    expect(leads).toMatchObject([{ id: taken.leadId }]);
    expect(await system.query('SELECT id, state, reason FROM held_submission')).toEqual([
      { id: held.submissionId, state: 'held', reason: 'too-quick' },
    ]);
  }, 90_000);

  test('taken, killed between reserve and enqueue, and taken again though it looks bad now', async () => {
    const { system, code, gate, receiver } = await startGated({ guard });
    const held = gate.holdCommand(QUEUE);
    const first = post(receiver, code, SLOW, KEY).catch(() => null);
    await held;
    await receiver.member.stop('SIGKILL');
    await first;

    const again = await post(await system.startReceiver(), code, QUICK, KEY);
    await system.settle();
    const { submissions, leads } = await stored(system);
    expect(submissions).toEqual([{ id: again.submissionId, lead_id: again.leadId }]);
    expect(leads).toMatchObject([{ id: again.leadId, email: ANA.email }]);
    expect(await system.query('SELECT id FROM held_submission')).toEqual([]);
  }, 90_000);
});

test('a timeout whose command runs after all: the sender hears 503, tries again, and there is one submission', async () => {
  const { system, code, gate, receiver } = await startGated();
  const held = gate.holdCommand(QUEUE);
  const first = await post(receiver, code, ANA, KEY);
  expect(first.status).toBe(503);
  (await held).release();
  await expect.poll(async () => (await stored(system)).submissions.length).toBe(1);

  await expect
    .poll(async () => (await post(receiver, code, ANA, KEY)).status, { timeout: 10_000 })
    .toBe(202);
  const other = await post(receiver, code, { email: ANA.email });
  await system.settle();
  const { submissions, leads } = await stored(system);
  expect(submissions).toHaveLength(2);
  expect(leads).toMatchObject([{ id: other.leadId, name: 'Ana' }]);
}, 90_000);

test('a timeout whose command runs after all, with a spool: 202 at once, and one submission', async () => {
  const { system, code } = await start({ receivers: 0 });
  const gate = await gateOf(system);
  const spools = folderForTest();
  const receiver = await system.startReceiver({ REDIS_URL: gate.url, SPOOL_DIR: spools });
  await untilKept(code, spools);
  const held = gate.holdCommand(QUEUE);
  const first = await post(receiver, code, ANA, KEY);
  expect(first.status).toBe(202);
  expect((await stored(system)).submissions).toEqual([]);
  (await held).release();
  await expect.poll(() => spoolWarnings(receiver), { timeout: 15_000 }).toEqual([]);
  await system.settle();
  const { submissions, leads } = await stored(system);
  expect(submissions).toEqual([{ id: first.submissionId, lead_id: first.leadId }]);
  expect(leads).toMatchObject([{ id: first.leadId, name: 'Ana' }]);
}, 90_000);

describe('the worker killed', () => {
  test('between commit and completion: the job runs again and changes nothing', async () => {
    const { system, code } = await start({ workers: 1 });
    await system.workers[0]?.stop();
    const gate = await gateOf(system);
    const worker = await system.startWorker({ REDIS_URL: gate.url, JOB_LOCK_MS: '1000' });
    const held = gate.holdCommand(COMPLETION);
    const { leadId, submissionId } = await post(system.receivers[0], code, ANA);
    await held;
    const before = await stored(system);
    expect(before.submissions).toEqual([{ id: submissionId, lead_id: leadId }]);
    await worker.stop('SIGKILL');
    expect((await queueCounts(system.redis)).active).toBe(1);

    const next = await system.startWorker({ JOB_LOCK_MS: '1000', LOG_LEVEL: 'debug' });
    await expect.poll(() => next.output(), { timeout: 15_000 }).toContain('already-applied');
    await system.settle();
    expect(await stored(system)).toEqual(before);
  }, 90_000);

  test('twice while it has the job: that counts for nothing, and the third one applies it', async () => {
    const env = { JOB_LOCK_MS: '1000' };
    const { system, code } = await start({ workerEnv: env });
    const unlock = await lockLeads(system.databaseUrl);
    const { leadId, submissionId } = await post(system.receivers[0], code, ANA);
    for (let kills = 0; kills < 3; kills++) {
      await expect
        .poll(async () => [await stallsOf(system), await activeJobs(system)], {
          timeout: 15_000,
        })
        .toEqual([kills, 1]);
      await system.workers.at(-1)?.stop('SIGKILL');
      await system.startWorker();
    }
    await unlock();
    await system.settle();
    const { submissions } = await stored(system);
    expect(submissions).toEqual([{ id: submissionId, lead_id: leadId }]);
    expect((await queueCounts(system.redis)).failed).toBe(0);
    expect(system.workers.map((worker) => worker.output()).join('')).not.toContain(
      'attempt failed',
    );
  }, 90_000);
});

test('a worker that stalls while another takes its job: both run it, and it is applied once', async () => {
  const { system, code } = await start({ workerEnv: { JOB_LOCK_MS: '1000', LOG_LEVEL: 'debug' } });
  const unlock = await lockLeads(system.databaseUrl);
  const { leadId, submissionId } = await post(system.receivers[0], code, ANA);
  await expect.poll(() => waitingForLock(system), { timeout: 10_000 }).toBe(1);
  const [stalled] = system.workers;
  stalled?.send('SIGSTOP');
  try {
    const other = await system.startWorker();
    await expect
      .poll(async () => [await stallsOf(system), await activeJobs(system)], {
        timeout: 15_000,
      })
      .toEqual([1, 1]);
    await unlock();
    stalled?.send('SIGCONT');
    await system.settle();
    await expect
      .poll(() => [stalled, other].map((worker) => outcomeIn(worker?.output() ?? '')).sort())
      .toEqual(['already-applied', 'created']);
  } finally {
    stalled?.send('SIGCONT');
  }
  const { submissions, leads } = await stored(system);
  expect(submissions).toEqual([{ id: submissionId, lead_id: leadId }]);
  expect(leads).toMatchObject([{ id: leadId }]);
}, 90_000);

const outcomeIn = (log: string) => /"outcome":"([^"]+)"/.exec(log)?.[1];

describe('the worker stopped by SIGTERM', () => {
  test('while a group runs: takes no other job, commits that one, and ends with 0', async () => {
    const { system, code } = await start({ workerEnv: { WORKER_CONCURRENCY: '1' } });
    const unlock = await lockLeads(system.databaseUrl);
    const running = await post(system.receivers[0], code, ANA);
    await expect.poll(() => waitingForLock(system), { timeout: 10_000 }).toBe(1);
    await post(system.receivers[0], code, { email: 'later@example.com' });
    const stopped = system.workers[0]?.stop('SIGTERM');
    await expect.poll(() => system.workers[0]?.output()).toContain('stopping');
    await unlock();
    expect(await stopped).toBe(0);
    expect((await stored(system)).submissions.map(({ id }) => id)).toEqual([running.submissionId]);
    expect(await queueCounts(system.redis)).toMatchObject({ waiting: 1, active: 0, failed: 0 });
  }, 90_000);

  test('twice: ends at once, not with 0, and another worker applies what it had', async () => {
    const { system, code } = await start({ workerEnv: { JOB_LOCK_MS: '1000' } });
    const unlock = await lockLeads(system.databaseUrl);
    const answer = await post(system.receivers[0], code, ANA);
    await expect.poll(() => waitingForLock(system), { timeout: 10_000 }).toBe(1);
    const [worker] = system.workers;
    const stopped = worker?.stop('SIGTERM');
    await expect.poll(() => worker?.output()).toContain('stopping');
    worker?.send('SIGTERM');
    expect(await stopped).toBe(1);
    await unlock();
    await system.startWorker();
    await system.settle();
    expect((await stored(system)).submissions.map(({ id }) => id)).toEqual([answer.submissionId]);
  }, 90_000);
});

const activeJobs = async (system: System) => (await queueCounts(system.redis)).active;

/** How often BullMQ has found the worker of the job that is active gone. */
async function stallsOf({ redis }: System): Promise<number> {
  const jobId = await redis.lindex(`leadgate:${QUEUE}:active`, 0);
  return Number(await redis.hget(`leadgate:${QUEUE}:${jobId ?? ''}`, 'stc'));
}

async function waitingForLock(system: System): Promise<number> {
  const rows = await system.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
       AND application_name = 'leadgate' AND wait_event_type = 'Lock'`,
  );
  return rows.length;
}
