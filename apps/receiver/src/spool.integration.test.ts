import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import type { RedisConnection } from '@leadgate/boot';
import { refillAll } from '@leadgate/intake';
import { type OwnServer, startRedisServer } from '@leadgate/testkit';
import {
  type Answered,
  closeAll,
  closes,
  CODE,
  confirm,
  connectTo,
  LINK,
  type Receiver,
  refill,
  startOn,
  takeJobs,
} from '../test/receiver.ts';

let server: OwnServer;
let redis: RedisConnection;
let directory: string;

beforeAll(async () => {
  server = await startRedisServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'leadgate-spool-'));
  closes.push(() => rmSync(directory, { recursive: true, force: true }));
  redis = connectTo(server.url);
  await redis.flushall();
  await refill(redis);
});
afterEach(async () => {
  if (isDown) await restart();
  await closeAll();
});

let isDown = false;
async function kill(): Promise<void> {
  isDown = true;
  await server.kill();
}
async function restart(): Promise<void> {
  await server.restart();
  isDown = false;
  await confirm(redis);
}

const start = (env: Record<string, string> = {}) =>
  startOn(server.url, { SPOOL_DIR: directory, ...env });

/** A receiver whose links are on disk, so that it can spool. */
async function startKnowing(env: Record<string, string> = {}): Promise<Receiver> {
  const receiver = await start(env);
  await vi.waitFor(async () => expect((await receiver.ready()).status).toBe(200));
  await vi.waitFor(() => expect(linksOnDisk()).toContain(CODE), { timeout: 5_000 });
  return receiver;
}

const linksOnDisk = () => readFileSync(join(directory, 'links.ndjson'), 'utf8');

/** The ids of an answer that promises them. */
function idsOf(answer: Answered): { id: string | null; leadId: string | undefined } {
  expect(answer.status).toBe(202);
  return { id: answer.headers.get('submission-id'), leadId: answer.body.leadId };
}

/** What was answered has become jobs: each once, under its ids, in the order it was answered. */
async function expectDrained(answers: Answered[]): Promise<void> {
  const jobs = await takeJobs(server.url, answers.length);
  jobs.sort((a, b) => a.order - b.order);
  expect(jobs.map(({ id, leadId }) => ({ id, leadId }))).toEqual(answers.map(idsOf));
  for (const { stamp, order } of jobs) expect(stamp).toBeLessThanOrEqual(order);
}

async function postEach(receiver: Receiver, count: number, from = 0): Promise<Answered[]> {
  const answers: Answered[] = [];
  for (let n = 0; n < count; n++) {
    const post = () => receiver.post({ email: `a${from + n}@example.com` });
    let answer = await post();
    // A busy disk may not answer in time, and says so.
    for (let tries = 1; answer.status === 503 && tries < 10; tries++) answer = await post();
    answers.push(answer);
  }
  return answers;
}

async function timed(work: Promise<Answered>): Promise<Answered & { ms: number }> {
  const start = performance.now();
  return { ...(await work), ms: performance.now() - start };
}

describe('leads are answered 202 and reach the queue once Redis', () => {
  test('is back after it was killed', async () => {
    const receiver = await startKnowing();
    await kill();
    const answers = await postEach(receiver, 12);
    await vi.waitFor(
      async () => {
        const { status, warnings } = await receiver.ready();
        expect(status).toBe(200);
        expect(warnings.join()).toContain('Redis does not answer.');
        expect(warnings.join()).toContain('12 leads are in the spool');
      },
      { timeout: 3_000 },
    );
    await restart();
    await expectDrained(answers);
  });

  test('goes on after it was frozen; only the first wait for it', async () => {
    const receiver = await startKnowing();
    await receiver.post({});
    await server.kill('SIGSTOP');
    const first = await Promise.all(
      Array.from({ length: 20 }, (_, n) => timed(receiver.post({ email: `b${n}@example.com` }))),
    );
    const next = await Promise.all(
      Array.from({ length: 20 }, (_, n) => timed(receiver.post({ email: `c${n}@example.com` }))),
    );
    await server.kill('SIGCONT');
    for (const { status, ms } of [...first, ...next]) {
      expect(status).toBe(202);
      expect(ms).toBeLessThan(2_000);
    }
    const median = next.map(({ ms }) => ms).sort((a, b) => a - b)[10];
    expect(median).toBeLessThan(450);
    // Commands that timed out have run after all, and the drain ran them again.
    const jobs = await takeJobs(server.url, 41);
    expect(new Set(jobs.map(({ id }) => id)).size).toBe(41);
    const answered = new Map(
      [...first, ...next].map((answer): [string | null, string | undefined] => {
        const { id, leadId } = idsOf(answer);
        return [id, leadId];
      }),
    );
    for (const { id, leadId, answeredLeadId } of jobs)
      if (answered.has(id)) expect([leadId, answeredLeadId]).toContain(answered.get(id));
  });

  test('has room again after it was full', async () => {
    const receiver = await startKnowing();
    await redis.config('SET', 'maxmemory', '1mb');
    try {
      const answers = await postEach(receiver, 8);
      await redis.config('SET', 'maxmemory', '0');
      await expectDrained(answers);
    } finally {
      await redis.config('SET', 'maxmemory', '0');
    }
  });

  test('takes writes again after a failover left it read-only', async () => {
    const receiver = await startKnowing();
    await redis.replicaof('127.0.0.1', 1);
    let answers: Answered[];
    try {
      answers = await postEach(receiver, 8);
    } finally {
      await redis.call('REPLICAOF', 'NO', 'ONE');
    }
    await confirm(redis);
    await expectDrained(answers);
  });

  test('has been refilled after it came back empty, and a known person keeps their lead', async () => {
    const receiver = await startKnowing();
    await redis.flushall();
    const known = await receiver.post({ email: 'known@example.com' });
    const unknown = await receiver.post({ email: 'new@example.com' });
    const leadId = '0d5b6b44-6a3e-4a55-9b4d-6a8c1f1d0aff';
    await refillAll(redis, {
      directoryRevision: () => Promise.resolve(2),
      workspaceIds: () => Promise.resolve([LINK.workspaceId]),
      async *links() {
        yield await Promise.resolve([{ code: CODE, link: LINK }]);
      },
      async *identities() {
        yield await Promise.resolve([{ key: 'email:known@example.com', leadId }]);
      },
      highestOrders: () => Promise.resolve(new Map()),
    });
    const jobs = await takeJobs(server.url, 2);
    expect(jobs).toMatchObject([
      { id: idsOf(known).id, leadId, answeredLeadId: known.body.leadId },
      { id: idsOf(unknown).id, leadId: unknown.body.leadId },
    ]);
  });

  test('has as many replicas as a lead must reach', async () => {
    const receiver = await startKnowing({ REDIS_WAIT_REPLICAS: '1' });
    const answers = await postEach(receiver, 2);
    expect((await receiver.ready()).warnings.join()).toContain('in the spool');
    const replica = await startRedisServer();
    closes.push(() => replica.stop());
    const { port, password } = urlParts(server.url);
    const other = connectTo(replica.url);
    if (password !== '') await other.config('SET', 'masterauth', password);
    await other.replicaof('127.0.0.1', port);
    await vi.waitFor(
      async () => expect((await receiver.ready()).warnings.join()).not.toContain('in the spool'),
      { timeout: 15_000 },
    );
    await expectDrained(answers);
  }, 40_000);

  test('has fewer jobs than may wait', async () => {
    const receiver = await startKnowing({ MAX_QUEUE_DEPTH: '5' });
    const queued = await postEach(receiver, 5);
    await vi.waitFor(
      async () => expect((await receiver.ready()).warnings.join()).toContain('5 leads are waiting'),
      { timeout: 5_000 },
    );
    const spooled = await postEach(receiver, 2, 5);
    expect((await receiver.ready()).warnings.join()).toContain('2 leads are in the spool');
    await expectDrained([...queued, ...spooled]);
  });
});

describe('a receiver that starts without Redis', () => {
  test('knows its links from the disk, those that are closed too, and is ready', async () => {
    await (await startKnowing()).close();
    await kill();
    const receiver = await start();
    const ready = await receiver.ready();
    expect(ready).toMatchObject({ status: 200, reasons: [] });
    expect(ready.warnings.join()).toContain('The link directory is not complete');
    const answers = await postEach(receiver, 3);
    const unknown = await fetch(`${receiver.url}/ingest/nope`, { method: 'POST', body: '{}' });
    expect(unknown.status).toBe(503);
    await restart();
    await expectDrained(answers);
    await refill(redis, { state: 'disabled' });
    await vi.waitFor(async () => expect((await receiver.post({})).status).toBe(410));
    await vi.waitFor(() => expect(linksOnDisk()).toContain('disabled'), { timeout: 5_000 });
    await receiver.close();
    await kill();
    expect((await (await start()).post({})).status).toBe(410);
    await restart();
  }, 40_000);

  test('is not ready without links on disk, and spools nothing', async () => {
    await kill();
    const receiver = await start();
    expect((await receiver.ready()).status).toBe(503);
    expect((await receiver.post({})).status).toBe(503);
    await restart();
  });

  test('drains what the one before it has spooled', async () => {
    const before = await startKnowing();
    await kill();
    const answers = await postEach(before, 3);
    const stop = performance.now();
    await before.close();
    expect(performance.now() - stop).toBeLessThan(5_000);
    const receiver = await start();
    answers.push(...(await postEach(receiver, 2, 3)));
    await restart();
    await expectDrained(answers);
  }, 30_000);
});

test('a receiver whose clock is ahead stamps what it spools with the time of Redis', async () => {
  const truth = Date.now();
  const wrong = vi.spyOn(Date, 'now').mockImplementation(() => truth + 3_600_000);
  closes.push(() => wrong.mockRestore());
  const receiver = await startKnowing();
  await kill();
  const [answer] = await postEach(receiver, 1);
  expect(answer?.status).toBe(202);
  await restart();
  const [job] = await takeJobs(server.url, 1);
  // Not pulled down to its order, which it got when it was drained: what came meanwhile is newer.
  expect(job?.stamp).toBeLessThan(job?.order ?? 0);
  expect(job?.stamp).toBeGreaterThanOrEqual(truth * 1_000);
});

test('a full spool is a 503, and no longer ready, until it has room again', async () => {
  const receiver = await startKnowing({ SPOOL_MAX_BYTES: String(2 ** 20) });
  await kill();
  // Custom fields are kept whole, and unknown keys are not.
  const body = { customFields: { filler: 'x'.repeat(60_000) } };
  const answers: Answered[] = [];
  // The first waits for Redis before, and may come too late for a slow disk.
  let last = await vi.waitFor(async () => {
    const first = await receiver.post(body);
    expect(first.status).toBe(202);
    return first;
  }, 5_000);
  for (; last.status === 202; last = await receiver.post(body)) answers.push(last);
  expect(last).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  expect(answers.length).toBeGreaterThan(5);
  await vi.waitFor(async () => expect((await receiver.ready()).status).toBe(503), {
    timeout: 3_000,
  });
  await restart();
  await expectDrained(answers);
  await vi.waitFor(async () => expect((await receiver.post(body)).status).toBe(202));
}, 30_000);

test('a key that was accepted elsewhere while this receiver had no Redis is one submission and two ids', async () => {
  await (await startKnowing()).close();
  const cutOff = await startOn('redis://127.0.0.1:1', { SPOOL_DIR: directory });
  const key = { 'idempotency-key': 'k-1' };
  const here = await cutOff.post({ email: 'ana@example.com' }, key);
  const elsewhere = await (await startOn(server.url)).post({ email: 'ana@example.com' }, key);
  await cutOff.close();
  await start();
  const jobs = await takeJobs(server.url, 2);
  expect(new Set(jobs.map(({ id }) => id))).toEqual(new Set([idsOf(elsewhere).id]));
  expect(new Set(jobs.map(({ leadId }) => leadId))).toEqual(new Set([elsewhere.body.leadId]));
  expect(jobs.map(({ answeredLeadId }) => answeredLeadId)).toContain(here.body.leadId);
}, 30_000);

test('a folder that cannot be used is named at the start', async () => {
  await expect(start({ SPOOL_DIR: '/dev/null/spool' })).rejects.toThrow(/SPOOL_DIR .*ENOTDIR/);
});

function urlParts(url: string): { port: number; password: string } {
  const { port, password } = new URL(url);
  return { port: Number(port), password };
}
