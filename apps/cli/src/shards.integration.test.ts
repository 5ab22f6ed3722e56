import { connectRedis, type RedisConnection } from '@leadgate/boot';
import { openProducer, startApplyWorker } from '@leadgate/queue';
import { sampleSubmission, testRedis } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { run } from './run.ts';

const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const closes: (() => unknown)[] = [];
let url: string;
let redis: RedisConnection;

beforeEach(async () => {
  const server = await testRedis();
  await server.flush();
  ({ url } = server);
  redis = connectRedis(url, { role: 'worker' });
  closes.push(() => redis.disconnect());
});
afterEach(async () => {
  for (let close = closes.pop(); close !== undefined; close = closes.pop()) await close();
});

async function leadgate(argv: string[], options: { signal?: AbortSignal } = {}) {
  const ran = { status: -1, out: '', err: '' };
  ran.status = await run(argv, {
    out: (text) => (ran.out += text),
    err: (text) => (ran.err += text),
    // The audit log is not the matter here: nothing says where Postgres is.
    env: { REDIS_URL: url },
    cwd: '/',
    ...options,
  });
  return ran;
}

/** As after QUEUE_SHARDS went from 3 to 2 with jobs waiting: two minutes ago, or just now. */
async function threeThenTwo(): Promise<void> {
  const producer = await openProducer(redis, { logger, shards: 3 });
  const all = Array.from({ length: 60 }, (_, n) => sampleSubmission(n, { leadId: randomUUID() }));
  await Promise.all(all.map((one) => producer.enqueue(one)));
  await producer.close();
  await redis.hset('leadgate:shards', 2, Date.now() - 120_000);
}

const work = async () => {
  const worker = await startApplyWorker(redis, {
    concurrency: 10,
    logger,
    apply: (submissions) => Promise.resolve(submissions.map(() => ({ kind: 'settled' }))),
  });
  closes.push(() => worker.close({ timeoutMs: 3_000 }));
};

test('shards list tells those that are written to from those that are left over', async () => {
  await threeThenTwo();
  const { out, status } = await leadgate(['shards', 'list']);
  expect(status).toBe(0);
  const lines = out.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^SHARD +STATE +WAITING +ACTIVE +DELAYED +FAILED +OLDEST SINCE$/);
  expect(lines.slice(1).map((line) => /^(\d) +(written to|left over) /.exec(line)?.[0])).toEqual([
    expect.stringMatching(/^0 +written to /),
    expect.stringMatching(/^1 +written to /),
    expect.stringMatching(/^2 +left over /),
  ]);
  const shards = JSON.parse((await leadgate(['shards', 'list', '--json'])).out) as object[];
  expect(shards).toMatchObject([{ inUse: true }, { inUse: true }, { shard: 2, inUse: false }]);
});

test('shards drain waits until what is left over is empty, and takes it off', async () => {
  await threeThenTwo();
  const draining = leadgate(['shards', 'drain']);
  await work();
  expect(await draining).toMatchObject({ status: 0, out: '1 shard taken off: 2.\n' });
  expect(await leadgate(['shards', 'drain'])).toMatchObject({
    status: 0,
    out: 'No shard is left over.\n',
  });
});

test('shards drain says what holds it up, ends when told to, and loses nothing', async () => {
  await threeThenTwo();
  await leadgate(['queue', 'pause']);
  const stop = new AbortController();
  const draining = leadgate(['shards', 'drain'], { signal: stop.signal });
  await vi.waitFor(async () => {
    const { out } = await leadgate(['shards', 'list']);
    expect(out).toContain('left over, paused');
  });
  stop.abort();
  const { status, err } = await draining;
  expect(status).toBe(1);
  expect(err).toMatch(/shard 2: \d+ waiting, .* the queue is paused: leadgate queue resume/);
  expect(err).toContain('Stopped: shard 2 still there; nothing is lost.');
});

test('shards drain takes nothing off while no receiver has been heard of', async () => {
  await threeThenTwo();
  for (const shard of [0, 1]) await redis.hset('leadgate:shards', shard, Date.now() - 120_000);
  const { status, err } = await leadgate(['shards', 'drain']);
  expect(status).toBe(1);
  expect(err).toContain('No receiver has been heard of for a minute');
  expect(await redis.hexists('leadgate:shards', '2')).toBe(1);
});
