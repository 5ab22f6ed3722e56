import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { forTest, startPostgresServer, startRedisServer } from '@leadgate/testkit';
import { queueCounts } from '@leadgate/queue';
import { lockLeads, post as postTo, storedLeads } from './leads.ts';
import { startSystem, type System, type SystemOptions } from './system.ts';

async function start(options: SystemOptions, link?: Parameters<System['openLink']>[0]) {
  const system = await forTest(startSystem(options));
  return { system, ...(await system.openLink(link)) };
}

async function post({ receivers }: System, code: string, lead: object, headers = {}) {
  const started = performance.now();
  const answer = await postTo(receivers[0], code, lead, headers, 5_000);
  return { ...answer, ms: performance.now() - started };
}

/** Nobody should wait here for jobs of a worker that is gone. */
const LEASE = { JOB_LOCK_MS: '1000' };

const count = async (system: System, table: string): Promise<number> =>
  Number((await system.query<{ count: string }>(`SELECT count(*) FROM ${table}`))[0]?.count);

describe('Redis', () => {
  test('killed: the sender hears 503 within a second, and what was accepted is applied after the restart', async () => {
    const redis = await forTest(startRedisServer());
    const { system, code } = await start({ redis });
    const before = await post(system, code, { email: 'before@example.com' });
    expect(before.status).toBe(202);

    await redis.kill('SIGKILL');
    const during = await post(system, code, { email: 'during@example.com' });
    expect(during.status).toBe(503);
    expect(Number(during.retryAfter)).toBeGreaterThan(0);
    expect(during.ms).toBeLessThan(1_000);

    await redis.restart();
    await expect
      .poll(async () => (await post(system, code, { email: 'after@example.com' })).status, {
        timeout: 20_000,
      })
      .toBe(202);
    await system.settle();
    const leads = await system.query<{ id: string; email: string }>(
      'SELECT id, email FROM lead ORDER BY creator_order',
    );
    expect(leads.map(({ email }) => email)).toEqual(['before@example.com', 'after@example.com']);
    expect(leads[0]?.id).toBe(before.leadId);
  }, 60_000);

  test('frozen: the sender hears 503 within a second', async () => {
    const redis = await forTest(startRedisServer());
    const { system, code } = await start({ redis });
    process.kill(redis.pid, 'SIGSTOP');
    try {
      const answer = await post(system, code, { email: 'frozen@example.com' });
      expect(answer.status).toBe(503);
      expect(answer.ms).toBeLessThan(1_000);
    } finally {
      process.kill(redis.pid, 'SIGCONT');
    }
  }, 60_000);

  test('emptied: no code is unknown, nobody gets a second lead, and the worker refills it', async () => {
    const redis = await forTest(startRedisServer());
    const { system, code } = await start({ redis });
    const before = await post(system, code, {
      email: 'known@example.com',
      telephone: '11987654321',
    });
    await system.settle();

    await system.redis.flushall();
    const seen = new Set<number>();
    await expect
      .poll(
        async () => {
          const answer = await post(system, code, { telephone: '11987654321' });
          seen.add(answer.status);
          return answer.leadId;
        },
        { timeout: 20_000, interval: 20 },
      )
      .toBe(before.leadId);
    expect(seen).not.toContain(404);
    await system.settle();
    expect(await count(system, 'lead')).toBe(1);
  }, 60_000);
});

describe('Postgres', () => {
  test('stopped: leads are accepted, no attempt is spent, and all are applied when it returns', async () => {
    const postgres = await forTest(startPostgresServer());
    const { system, code } = await start({ postgres });

    await postgres.kill('SIGQUIT');
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => post(system, code, { email: `p${i}@example.com` })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    await expect
      .poll(() => system.workers[0]?.output(), { timeout: 10_000 })
      .toContain('Postgres is away');
    const waiting = await queueCounts(system.redis);
    expect(waiting.waiting + waiting.active).toBe(30);

    await postgres.restart();
    await system.settle();
    expect((await queueCounts(system.redis)).failed).toBe(0);
    expect(await count(system, 'submission')).toBe(30);
  }, 60_000);
});

describe('the worker', () => {
  test('killed before its commit: the job is not finished, and another worker applies it once', async () => {
    const { system, code } = await start({ workerEnv: LEASE });
    const unlock = await lockLeads(system.databaseUrl);
    const answer = await post(system, code, { email: 'held@example.com' });
    await expect.poll(async () => (await queueCounts(system.redis)).active).toBe(1);
    expect(await count(system, 'submission')).toBe(0);

    await system.workers[0]?.stop('SIGKILL');
    await unlock();
    expect(await count(system, 'submission')).toBe(0);

    await system.startWorker();
    await system.settle(60_000);
    expect(await system.query('SELECT id, email FROM lead')).toEqual([
      { id: answer.leadId, email: 'held@example.com' },
    ]);
    expect(await count(system, 'submission')).toBe(1);
  }, 90_000);

  test('killed at any moment under load: every accepted lead is applied, none twice', async () => {
    const { system, code } = await start({ workers: 2, workerEnv: LEASE });
    const accepted = new Map<string, string>();
    const posting = (async () => {
      for (let round = 0; round < 20; round++) {
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, i) =>
            post(system, code, { email: `k${(round * 20 + i) % 150}@example.com` }),
          ),
        );
        // On a machine that is busy, Redis may be too late for some.
        for (const { status, submissionId, leadId } of answers)
          if (status === 202) accepted.set(submissionId, leadId);
      }
    })();
    for (const worker of system.workers.slice()) {
      await worker.stop('SIGKILL');
      await system.startWorker();
    }
    await posting;
    await system.settle(60_000);
    const stored = await storedLeads(system);
    expect(accepted.size).toBeGreaterThan(0);
    for (const [id, leadId] of accepted) expect(stored.get(id)).toBe(leadId);
    const [{ emails } = { emails: '' }] = await system.query<{ emails: string }>(
      'SELECT count(DISTINCT email) AS emails FROM lead',
    );
    expect(await count(system, 'lead')).toBe(Number(emails));
  }, 120_000);

  test('stopped by SIGTERM: what it has begun is committed, and it ends with 0', async () => {
    const { system, code } = await start({});
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => post(system, code, { email: `t${i}@example.com` })),
    );
    expect(await system.workers[0]?.stop('SIGTERM')).toBe(0);
    const counts = await queueCounts(system.redis);
    expect(counts.active).toBe(0);
    expect(counts.waiting + (await count(system, 'submission'))).toBe(50);
  }, 60_000);
});

describe('the receiver', () => {
  test('killed and asked again with the same key: one submission', async () => {
    const { system, code } = await start({});
    const key = { 'idempotency-key': randomUUID() };
    const lead = { email: 'again@example.com', name: 'Ana' };
    const first = post(system, code, lead, key).catch(() => null);
    await system.receivers[0]?.member.stop('SIGKILL');
    await first;
    system.receivers.shift();
    await system.startReceiver();
    expect((await post(system, code, lead, key)).status).toBe(202);
    await system.settle();
    expect(await count(system, 'submission')).toBe(1);
  }, 60_000);

  test('stopped by SIGTERM: open requests are answered, and it ends with 0', async () => {
    const { system, code } = await start({});
    const posts = Array.from({ length: 50 }, (_, i) =>
      post(system, code, { email: `r${i}@example.com` }),
    );
    const answers = await Promise.all(posts.slice(0, 1));
    const stopped = system.receivers[0]?.member.stop('SIGTERM');
    const rest = await Promise.allSettled(posts.slice(1));
    expect(await stopped).toBe(0);
    for (const outcome of rest) {
      if (outcome.status === 'fulfilled') answers.push(outcome.value);
    }
    await system.settle();
    const accepted = answers.filter(({ status }) => status === 202);
    expect(await count(system, 'submission')).toBe(accepted.length);
  }, 60_000);
});

test('two hundred posts of one person at the same moment, from cold: one lead, one id', async () => {
  const { system, code } = await start({ receivers: 2, workers: 2 });
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => {
      const lead = { email: 'One@Example.com', telephone: '11 98765-4321', name: `n${i}` };
      return postTo(system.receivers[i % 2], code, lead);
    }),
  );
  const ids = new Set(answers.map(({ leadId }) => leadId));
  expect(ids.size).toBe(1);
  await system.settle();
  expect((await system.query<{ id: string }>('SELECT id FROM lead')).map(({ id }) => id)).toEqual([
    ...ids,
  ]);
  expect(await count(system, 'submission')).toBe(200);
  expect(await count(system, 'identity')).toBe(2);
}, 60_000);
