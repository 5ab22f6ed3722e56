import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { awaitRedis, type RedisConnection } from '@leadgate/boot';
import type { RejectedBody } from '@leadgate/contract';
import { takeRejected } from '@leadgate/intake';
import { queueCounts } from '@leadgate/queue';
import { type OwnServer, startRedisServer, startSilentProxy, testRedis } from '@leadgate/testkit';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Answered,
  closeAll,
  closes,
  confirm,
  connectTo,
  LINK,
  logger,
  openApp,
  refill,
  startOn,
  takeJobs,
} from '../test/receiver.ts';

afterEach(closeAll);

describe('on a Redis that is well', () => {
  let url: string;
  let flush: () => Promise<void>;
  let keys: (pattern: string) => Promise<string[]>;
  let redis: RedisConnection;

  beforeAll(async () => {
    ({ url, flush, keys } = await testRedis());
  });
  beforeEach(async () => {
    redis = connectTo(url);
    await awaitRedis(redis);
    await refill(redis);
  });
  afterEach(() => flush());

  test('the job in the queue is what was posted, under the ids that were answered', async () => {
    const receiver = await startOn(url);
    const body = '{"email":"Ana@Example.com","telephone":5511987654321,"shoe":38}';
    const answer = await receiver.post(body, { referer: 'https://shop.example.com/sale' });
    expect(answer.status).toBe(202);
    const [submission, ...others] = await takeJobs(url, 1);
    expect(others).toEqual([]);
    expect(submission).toMatchObject({
      id: answer.headers.get('submission-id'),
      leadId: answer.body.leadId,
      workspaceId: LINK.workspaceId,
      linkId: LINK.linkId,
      identities: [
        { key: 'email:ana@example.com', owner: answer.body.leadId },
        { key: 'phone:+5511987654321', owner: answer.body.leadId },
      ],
      lead: { email: 'ana@example.com', telephone: '5511987654321' },
      notes: [{ field: '/shoe', code: 'unknown-key' }],
      body,
      page: 'https://shop.example.com/sale',
      address: '127.0.0.1',
    });
    expect(submission?.stamp).toBe(submission?.order);
  });

  test('two hundred posts of one person from cold get one lead id', async () => {
    const receiver = await startOn(url);
    const answers = await Promise.all(
      Array.from({ length: 200 }, () => receiver.post({ email: 'ana@example.com' })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    expect(new Set(answers.map(({ body }) => body.leadId)).size).toBe(1);
    const submissions = await takeJobs(url, 200);
    expect(new Set(submissions.map(({ id }) => id)).size).toBe(200);
    expect(new Set(submissions.map(({ order }) => order)).size).toBe(200);
  });

  test('two receivers give one person one lead id', async () => {
    const [one, other] = [await startOn(url), await startOn(url)];
    const answers = await Promise.all(
      [one, other, one, other].map((receiver) => receiver.post({ telephone: '11900000001' })),
    );
    expect(new Set(answers.map(({ body }) => body.leadId)).size).toBe(1);
  });

  test('the email’s lead is answered where the phone is another’s', async () => {
    const receiver = await startOn(url);
    const email = await receiver.post({ email: 'ana@example.com' });
    const phone = await receiver.post({ telephone: '11900000002' });
    const both = await receiver.post({ email: 'Ana@Example.com', telephone: '(11) 90000-0002' });
    expect(both.body.leadId).toBe(email.body.leadId);
    const submissions = await takeJobs(url, 3);
    expect(submissions.at(-1)?.identities.map(({ owner }) => owner)).toEqual([
      email.body.leadId,
      phone.body.leadId,
    ]);
  });

  test('the same key and body is one submission; the same key and another body is 422', async () => {
    const receiver = await startOn(url);
    const key = { 'idempotency-key': 'k-1' };
    const first = await receiver.post({ email: 'ana@example.com', name: 'Ana' }, key);
    const again = await receiver.post('{ "name": "Ana", "email": "ana@example.com" }', key);
    expect(again.status).toBe(202);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('submission-id')).toBe(first.headers.get('submission-id'));
    const other = await receiver.post({ email: 'ana@example.com' }, key);
    expect(other.body.code).toBe('idempotency-key-reused');
    const jobs = await takeJobs(url, 2);
    expect(jobs.map(({ held }) => held?.reason)).toEqual([undefined, 'key-reused']);
  });

  test('a crash between reserving and enqueuing loses nothing: a retry enqueues the same submission', async () => {
    let crash = true;
    const receiver = await openApp({
      redisUrl: url,
      beforeEnqueue: () => {
        if (crash) throw new Error('killed');
      },
    });
    const key = { headers: { 'idempotency-key': 'k-1' } };
    expect((await receiver.post({ email: 'ana@example.com' }, key)).statusCode).toBe(503);
    expect(receiver.enqueued).toEqual([]);
    crash = false;
    const answers = [
      await receiver.post({ email: 'ana@example.com' }, key),
      await receiver.post({ email: 'ana@example.com' }, key),
    ];
    const [submission, ...others] = await takeJobs(url, 1);
    expect(others).toEqual([]);
    for (const answer of answers) {
      expect(answer.headers['submission-id']).toBe(submission?.id);
      expect(answer.json()).toEqual({ leadId: submission?.leadId });
    }
  });

  test('a refused body reaches the list of its link', async () => {
    const receiver = await startOn(url);
    const body = '{"email":"ana@example.com","telephone":"abc","birthday":"31/02/1981"}';
    const answer = await receiver.post(body);
    expect(answer.body.errors?.map(({ pointer }) => pointer)).toEqual(['/telephone', '/birthday']);
    const kept: RejectedBody[] = [];
    await vi.waitFor(async () => {
      await takeRejected(redis, (rejected) => Promise.resolve(void kept.push(...rejected)));
      expect(kept).toHaveLength(1);
    });
    expect(kept[0]).toMatchObject({ linkId: LINK.linkId, code: 'invalid-lead', body });
    expect((await queueCounts(redis)).waiting).toBe(0);
  });

  test('limits hold across receivers', async () => {
    await refill(redis, { linkLimit: 10 });
    const one = await startOn(url);
    const other = await startOn(url);
    // A minute that is about to end would give its limit twice.
    const left = 60_000 - (Date.now() % 60_000);
    if (left < 3_000) await new Promise((resolve) => setTimeout(resolve, left));
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => (i % 2 ? one : other).post({ name: `Ana ${i}` })),
    );
    const accepted = answers.filter((answer) => answer.status === 202);
    expect(accepted).toHaveLength(10);
    const limited = answers.find((answer) => answer.status === 429);
    expect(Number(limited?.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('a link is 404 only when the directory is complete, and found as soon as it is there', async () => {
    await flush();
    const receiver = await startOn(url);
    expect((await receiver.post({})).status).toBe(503);
    expect((await fetch(`${receiver.url}/ready`)).status).toBe(503);
    await refill(redis);
    await expect.poll(async () => (await receiver.post({})).status).toBe(202);
    const unknown = await fetch(`${receiver.url}/ingest/nope`, { method: 'POST', body: '{}' });
    expect(unknown.status).toBe(404);
    expect((await fetch(`${receiver.url}/ready`)).status).toBe(200);
  });

  test('a workspace whose marker is gone is 503, and nothing is claimed', async () => {
    const receiver = await startOn(url);
    await redis.del(`leadgate:{${LINK.workspaceId}}:state`);
    const answer = await receiver.post({ email: 'ana@example.com' });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).not.toBeNull();
    expect(await keys(`leadgate:{${LINK.workspaceId}}:i:*`)).toEqual([]);
  });

  test('counts of what was answered name nobody', async () => {
    const receiver = await startOn(url);
    const info = vi.spyOn(logger, 'info');
    await receiver.post({ email: 'ana@example.com' });
    await receiver.post('{');
    await closeAll();
    expect(info).toHaveBeenCalledWith(
      { answers: { accepted: 1, 'malformed-json': 1 } },
      'answered',
    );
  });
});

describe('on a Redis that fails', () => {
  let server: OwnServer;

  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());
  beforeEach(async () => {
    const redis = connectTo(server.url);
    await redis.flushall();
    await refill(redis);
  });

  /** The deadline is 700 ms; what is beyond is for a machine that does much else. */
  const SOON_MS = 2_000;
  const timed = async (work: Promise<Answered>): Promise<Answered & { ms: number }> => {
    const start = performance.now();
    return { ...(await work), ms: performance.now() - start };
  };

  test('a killed Redis is a 503 and no hang, and leads are taken again once it is back', async () => {
    const receiver = await startOn(server.url);
    expect((await receiver.post({ email: 'ana@example.com' })).status).toBe(202);
    await server.kill();
    const down = await timed(receiver.post({ email: 'bia@example.com' }));
    expect(down).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(down.ms).toBeLessThan(SOON_MS);
    expect(down.headers.get('retry-after')).not.toBeNull();
    expect(down.headers.get('access-control-allow-origin')).toBe('*');
    expect((await fetch(`${receiver.url}/live`)).status).toBe(200);
    await vi.waitFor(async () => expect((await fetch(`${receiver.url}/ready`)).status).toBe(503), {
      timeout: 3_000,
    });
    await server.restart();
    await confirm(connectTo(server.url));
    await vi.waitFor(
      async () => expect((await receiver.post({ email: 'bia@example.com' })).status).toBe(202),
      { timeout: 10_000, interval: 50 },
    );
    await vi.waitFor(async () => expect((await fetch(`${receiver.url}/ready`)).status).toBe(200), {
      timeout: 5_000,
    });
  });

  test('a Redis that hangs is a 503 and no hang of ours, for everybody at once', async () => {
    const receiver = await startOn(server.url);
    await receiver.post({});
    await server.kill('SIGSTOP');
    try {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, i) => timed(receiver.post({ email: `a${i}@example.com` }))),
      );
      for (const { status, ms } of answers) {
        expect(status).toBe(503);
        expect(ms).toBeLessThan(SOON_MS);
      }
    } finally {
      await server.kill('SIGCONT');
    }
    await vi.waitFor(async () => expect((await receiver.post({})).status).toBe(202), {
      timeout: 10_000,
      interval: 50,
    });
  });

  test('a receiver that is cut off without a word is not live though others are answered, and is again once it is', async () => {
    const proxy = await startSilentProxy(server.url);
    closes.push(proxy.close);
    const receiver = await startOn(proxy.url, { LIVENESS_WINDOW_MS: '200' });
    const live = async () => (await fetch(`${receiver.url}/live`)).status;
    expect((await receiver.post({})).status).toBe(202);
    // To start again does not help while Redis answers nobody.
    proxy.silence();
    const away = performance.now();
    while (performance.now() - away < 1_500) {
      expect(await live()).toBe(200);
      await delay(50);
    }
    proxy.admit();
    await vi.waitFor(async () => expect((await receiver.post({})).status).toBe(202), {
      timeout: 15_000,
      interval: 50,
    });
    // One that answers others, and this process alone not.
    proxy.silence();
    proxy.admit();
    await vi.waitFor(async () => expect(await live()).toBe(503), { timeout: 5_000, interval: 20 });
    await vi.waitFor(async () => expect((await receiver.post({})).status).toBe(202), {
      timeout: 15_000,
      interval: 50,
    });
    await vi.waitFor(async () => expect(await live()).toBe(200), { timeout: 5_000, interval: 20 });
  }, 60_000);

  test('a receiver that starts without Redis is not ready, and becomes so by itself', async () => {
    await server.kill();
    const receiver = await startOn(server.url);
    expect((await receiver.post({})).status).toBe(503);
    const notReady = await fetch(`${receiver.url}/ready`);
    expect(notReady.status).toBe(503);
    expect(await notReady.json()).toMatchObject({
      reasons: expect.arrayContaining(['Redis does not answer.']) as string[],
    });
    await server.restart();
    await confirm(connectTo(server.url));
    await vi.waitFor(async () => expect((await receiver.post({})).status).toBe(202), {
      timeout: 15_000,
      interval: 50,
    });
  });

  test('a receiver starts on a Redis that falls silent as it is asked how it is set up', async () => {
    const address = new URL(server.url);
    let asked = 0;
    const proxy = createServer((client) => {
      const redis = connect(Number(address.port), address.hostname);
      redis.on('error', () => undefined).pipe(client);
      client.on('close', () => redis.destroy());
      client
        .on('error', () => undefined)
        .on('data', (bytes) => {
          if (bytes.includes('appendfsync') && (asked += 1) === 1) redis.unpipe(client);
          redis.write(bytes);
        });
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    closes.push(() => void proxy.close());
    const port = String((proxy.address() as AddressInfo).port);
    const receiver = await startOn(Object.assign(new URL(server.url), { port }).href);
    expect(asked).toBe(1);
    await vi.waitFor(async () => expect((await receiver.post({})).status).toBe(202), {
      timeout: 15_000,
      interval: 50,
    });
  });

  test('a Redis that may throw leads away is no Redis to start on', async () => {
    await connectTo(server.url).config('SET', 'maxmemory-policy', 'allkeys-lru');
    await expect(startOn(server.url)).rejects.toThrow(/maxmemory-policy to noeviction/);
    await connectTo(server.url).config('SET', 'maxmemory-policy', 'noeviction');
  });

  test('a Redis that syncs late is named, and leads are taken', async () => {
    await connectTo(server.url).config('SET', 'appendfsync', 'everysec');
    const receiver = await startOn(server.url);
    const ready = await fetch(`${receiver.url}/ready`);
    expect(ready.status).toBe(200);
    expect(((await ready.json()) as { warnings: string[] }).warnings.join()).toContain('everysec');
    await connectTo(server.url).config('SET', 'appendfsync', 'always');
  });
});
