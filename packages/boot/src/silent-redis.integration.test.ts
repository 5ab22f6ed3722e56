import { startRedisServer, startSilentProxy, type SilentProxy } from '@leadgate/testkit';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { redisScript } from './redis-script.ts';
import { awaitRedis, connectRedis, type RedisRole } from './redis.ts';

/** From when a new connection gets through. */
const WITHIN_MS = 15_000;

let server: Awaited<ReturnType<typeof startRedisServer>>;
const undo: (() => unknown)[] = [];
beforeAll(async () => void (server = await startRedisServer()));
afterAll(async () => {
  for (const one of undo.splice(0).reverse()) await one();
  await server.stop();
});

async function openProxy(): Promise<SilentProxy> {
  const proxy = await startSilentProxy(server.url);
  undo.push(() => proxy.close());
  return proxy;
}

async function connect(url: string, role: Exclude<RedisRole, 'subscriber'>) {
  const redis = connectRedis(url, { role });
  undo.push(() => redis.disconnect());
  await awaitRedis(redis);
  return redis;
}

// Each waits for seconds: they do it together.
describe.concurrent('a Redis that is gone without a word', () => {
  test.each(['producer', 'worker', 'admin'] as const)(
    'a %s whose Redis is gone without a word has a new connection soon after one can be had',
    async (role) => {
      const proxy = await openProxy();
      const redis = await connect(proxy.url, role);
      await redis.set(role, role);
      proxy.silence();
      // One that waits for Redis is answered in the end; what others ask fails, and works again later.
      const asked = redis.get(role).catch(() => role);
      proxy.admit();
      await vi.waitFor(async () => expect(await within(1_000, redis.get(role))).toBe(role), {
        timeout: WITHIN_MS,
        interval: 100,
      });
      expect(await within(1_000, asked)).toBe(role);
      expect(proxy.silenced()).toBe(0);
    },
    30_000,
  );

  test.each(['producer', 'worker', 'admin'] as const)(
    'a %s that asks nothing finds out all the same',
    async (role) => {
      const proxy = await openProxy();
      const redis = await connect(proxy.url, role);
      const lost = vi.fn();
      redis.on('close', lost);
      proxy.silence();
      await vi.waitFor(() => expect(lost).toHaveBeenCalled(), { timeout: 10_000, interval: 50 });
    },
    30_000,
  );

  test('who is silent while it is connected to is given up, and tried again', async () => {
    const proxy = await openProxy();
    proxy.silence();
    const redis = connectRedis(proxy.url, { role: 'worker' });
    undo.push(() => redis.disconnect());
    await vi.waitFor(() => expect(proxy.silenced()).toBe(1));
    proxy.admit();
    await awaitRedis(redis, { timeoutMs: WITHIN_MS });
  }, 30_000);

  test('a subscriber whose Redis is gone without a word hears again', async () => {
    const proxy = await openProxy();
    const subscriber = connectRedis(proxy.url, { role: 'subscriber' });
    const publisher = connectRedis(server.url, { role: 'admin' });
    undo.push(
      () => subscriber.disconnect(),
      () => publisher.disconnect(),
    );
    const heard = vi.fn<(message: string) => void>();
    subscriber.on('message', (_channel: string, message: string) => heard(message));
    await subscriber.subscribe('news');
    proxy.silence();
    proxy.admit();
    await vi.waitFor(
      async () => {
        await publisher.publish('news', 'later');
        expect(heard).toHaveBeenCalledWith('later');
      },
      { timeout: WITHIN_MS, interval: 100 },
    );
  }, 30_000);

  test('a replica that is waited for and was cut off without a word counts again soon after it is back', async () => {
    const proxy = await openProxy();
    const increment = redisScript(`return redis.call('INCR', KEYS[1])`);
    const { password } = new URL(server.url);
    const replica = await startRedisServer({ settings: REPLICA(password, proxy.port) });
    undo.push(() => replica.stop());
    const redis = connectRedis(server.url, { role: 'producer' });
    undo.push(() => redis.disconnect());
    await awaitRedis(redis);
    const write = () => increment(redis, ['n'], [], { replicas: 1 });
    await vi.waitFor(write, { timeout: 10_000, interval: 100 });
    proxy.silence();
    await expect(write()).rejects.toThrow('0 of 1 replicas');
    proxy.admit();
    await vi.waitFor(write, { timeout: WITHIN_MS, interval: 100 });
  }, 40_000);
});

const REPLICA = (password: string, port: number) => ({
  replicaof: `127.0.0.1 ${port}`,
  masterauth: password,
  // As docs/reliability.md has it: by default a minute.
  'repl-timeout': '5',
  'repl-ping-replica-period': '1',
});

function within<T>(ms: number, answer: Promise<T>): Promise<T | 'late'> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), ms);
  });
  return Promise.race([answer, late]).finally(() => clearTimeout(timer));
}
