import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import { startRedisServer, testRedis } from '@leadgate/testkit';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { inspectRedis } from './redis-durability.ts';
import { redisScript } from './redis-script.ts';
import { awaitRedis, connectRedis } from './redis.ts';
import { StartError } from './config.ts';

describe('a Redis that goes away and comes back', () => {
  let server: Awaited<ReturnType<typeof startRedisServer>>;
  beforeAll(async () => void (server = await startRedisServer()));
  afterAll(() => server.stop());

  test('a producer fails at once and works again, a worker waits; each loss is logged once', async () => {
    const logger = { info: vi.fn(), warn: vi.fn() };
    const producer = connectRedis(server.url, { role: 'producer', logger });
    const worker = connectRedis(server.url, { role: 'worker' });
    await Promise.all([awaitRedis(producer), awaitRedis(worker)]);
    expect(await producer.ping()).toBe('PONG');

    await server.kill();
    await vi.waitFor(() => expect(producer.status).not.toBe('ready'));
    const start = performance.now();
    await expect(producer.ping()).rejects.toThrow();
    expect(performance.now() - start).toBeLessThan(100);
    const waiting = worker.ping();

    await server.restart();
    expect(await waiting).toBe('PONG');
    await vi.waitFor(async () => expect(await producer.ping()).toBe('PONG'), 5_000);
    expect(logger.warn).toHaveBeenCalledTimes(1);
    expect(logger.info).toHaveBeenCalledTimes(1);
    producer.disconnect();
    worker.disconnect();
  });
});

test('a Redis that accepts and never answers does not hold a producer for longer than its timeout', async () => {
  const silent: Server = createServer((socket) => void socket.on('error', () => {}));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const redis = connectRedis(`redis://127.0.0.1:${port}`, { role: 'producer' });
  await expect(redis.ping()).rejects.toThrow();
  await expect(awaitRedis(redis, { timeoutMs: 50 })).rejects.toThrow(
    `Redis cannot be reached at 127.0.0.1:${port} (no answer): start it, or set REDIS_URL to where it is.`,
  );
  redis.disconnect();
  silent.close();
});

test('a Redis that is not there is one sentence without its password', async () => {
  const redis = connectRedis('redis://:hunter2@127.0.0.1:1', { role: 'worker' });
  const error = await awaitRedis(redis, { timeoutMs: 200 }).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(StartError);
  expect(String(error)).toContain('Redis cannot be reached at 127.0.0.1:1 (ECONNREFUSED)');
  expect(String(error)).not.toContain('hunter2');
  redis.disconnect();
});

test('inspectRedis reads what the tests’ Redis is set to', async () => {
  const redis = connectRedis((await testRedis()).url, { role: 'admin' });
  const [durability] = await inspectRedis(redis);
  expect(durability?.version).toMatch(/^\d+\.\d+\.\d+$/);
  expect(durability).toMatchObject({ evictionPolicy: 'noeviction', node: null });
  expect(durability?.usedMemory).toBeGreaterThan(0);
  redis.disconnect();
});

test('a managed Redis that refuses CONFIG leaves unknown what only CONFIG knows', async () => {
  const { url } = await testRedis();
  const admin = connectRedis(url, { role: 'admin' });
  const user = `boot-test-${randomUUID()}`;
  await admin.call('ACL', 'SETUSER', user, 'on', '>pass', '~*', '+@all', '-config');
  const withUser = new URL(url);
  withUser.username = user;
  withUser.password = 'pass';
  const redis = connectRedis(withUser.href, { role: 'admin' });
  expect(await inspectRedis(redis)).toMatchObject([
    { evictionPolicy: 'noeviction', appendfsync: 'unknown', noAppendfsyncOnRewrite: 'unknown' },
  ]);
  redis.disconnect();
  await admin.call('ACL', 'DELUSER', user);
  admin.disconnect();
});

test('one server that was taken for a Cluster is a sentence that says so', async () => {
  const server = new URL((await testRedis()).url);
  // A Cluster has no numbered databases.
  server.pathname = '';
  const redis = connectRedis(server.href, { role: 'admin', cluster: true });
  const error = await awaitRedis(redis, { timeoutMs: 2_000 }).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(StartError);
  expect(String(error)).toContain(`Redis at ${server.host} is no Cluster`);
  redis.disconnect();
});

describe('a script', () => {
  const increment = redisScript(`return redis.call('INCR', KEYS[1])`);

  test('is loaded where the server does not know it, and then called by its hash', async () => {
    const redis = connectRedis((await testRedis()).url, { role: 'admin' });
    expect(await increment(redis, ['n'], [])).toBe(1);
    await redis.script('FLUSH', 'SYNC');
    expect(await increment(redis, ['n'], [])).toBe(2);
    redis.disconnect();
  });

  test('rejects when fewer replicas have what it wrote than it was to wait for', async () => {
    const redis = connectRedis((await testRedis()).url, { role: 'producer' });
    await awaitRedis(redis);
    await expect(increment(redis, ['n'], [], { replicas: 1 })).rejects.toThrow(
      '0 of 1 replicas had it within 300 ms',
    );
    redis.disconnect();
  });
});
