import { startRedisCluster, type OwnCluster } from '@leadgate/testkit';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { awaitRedis, connectRedis, isCluster, mastersOf, type RedisConnection } from './redis.ts';
import { inspectRedis } from './redis-durability.ts';
import { redisScript } from './redis-script.ts';

let cluster: OwnCluster;
const connections: RedisConnection[] = [];
beforeAll(async () => void (cluster = await startRedisCluster()), 60_000);
afterEach(() => connections.splice(0).forEach((redis) => redis.disconnect()));
afterAll(() => cluster?.stop());

async function connect(role: 'producer' | 'worker' | 'admin', urls = cluster.urls.join(',')) {
  const redis = connectRedis(urls, { role, cluster: true });
  connections.push(redis);
  await awaitRedis(redis);
  return redis;
}

function subscribe() {
  const redis = connectRedis(cluster.urls.join(','), { role: 'subscriber' });
  connections.push(redis);
  return redis;
}

/** Keys of slots that lie apart. */
const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
const increment = redisScript(`return redis.call('INCR', KEYS[1])`);

test('one node that is known is enough to reach all of them', async () => {
  const redis = await connect('admin', cluster.urls[2]);
  expect(isCluster(redis)).toBe(true);
  expect(mastersOf(redis)).toHaveLength(3);
  for (const key of KEYS) await redis.set(key, key);
  expect(await Promise.all(KEYS.map((key) => redis.get(key)))).toEqual(KEYS);
});

test.each(['producer', 'admin'] as const)(
  'the first attempt of a connection succeeds, as %s, whichever node is known',
  async (role) => {
    for (const url of cluster.urls) {
      const redis = connectRedis(url, { role, cluster: true });
      connections.push(redis);
      const again = vi.fn();
      redis.on('reconnecting', again);
      await awaitRedis(redis);
      expect([url, again.mock.calls]).toEqual([url, []]);
      expect(await redis.set('known', url)).toBe('OK');
    }
  },
);

test('every master is looked at, by its name', async () => {
  const nodes = await inspectRedis(await connect('admin'));
  expect(new Set(nodes.map(({ node }) => node)).size).toBe(3);
  for (const node of nodes)
    expect(node).toMatchObject({
      node: expect.stringMatching(/:\d+$/) as string,
      isPartOfCluster: false,
      evictionPolicy: 'noeviction',
      appendfsync: 'always',
      replicas: 1,
    });
});

test('what a node of it says tells whoever takes it for all of Redis', async () => {
  const redis = connectRedis(cluster.urls[0] ?? '', { role: 'admin' });
  connections.push(redis);
  expect(await inspectRedis(redis)).toMatchObject([{ node: null, isPartOfCluster: true }]);
});

test('replicas are waited for on the node that a script wrote to, wherever it is', async () => {
  const redis = await connect('producer');
  for (const key of KEYS) {
    expect(await increment(redis, [`waited:${key}`], [], { replicas: 1 })).toBe(1);
    await expect(increment(redis, [`waited:${key}`], [], { replicas: 2 })).rejects.toThrow(
      '1 of 2 replicas had it',
    );
  }
});

test('a script finds its slot where it has moved to, and runs once', async () => {
  const redis = await connect('producer');
  const key = '{moving}';
  expect(await increment(redis, [key], [], { replicas: 1 })).toBe(1);
  const from = await cluster.masterOf(key);
  const slot = await cluster.slotOf(key);
  const to = await cluster.masterOf(slot < 8_192 ? 16_383 : 0);
  await cluster.moveSlots([slot], to);
  expect(await increment(redis, [key], [], { replicas: 1 })).toBe(2);
  await cluster.moveSlots([slot], from);
  expect(await increment(redis, [key], [])).toBe(3);
});

test('what is published on any node is heard, and goes on to be when the node listened to dies', async () => {
  const subscriber = subscribe();
  const heard = vi.fn();
  const lost = vi.fn();
  subscriber.on('message', (_channel: string, message: string) => heard(message) as void);
  subscriber.on('close', lost);
  await subscriber.subscribe('news');
  const redis = await connect('admin');
  const publish = (message: string) =>
    Promise.all(mastersOf(redis).map((node) => node.publish('news', message).catch(() => 0)));
  await publish('first');
  await vi.waitFor(() => expect(heard).toHaveBeenCalledTimes(3));

  const port = subscriber.options.port;
  const node = cluster.nodes.find((one) => one.port === port);
  await node?.kill();
  await vi.waitFor(() => expect(lost).toHaveBeenCalled());
  await vi.waitFor(
    async () => {
      await publish('second');
      expect(heard).toHaveBeenCalledWith('second');
    },
    { timeout: 15_000, interval: 100 },
  );
  expect(subscriber.options.port).not.toBe(port);
  await node?.restart();
  await cluster.settle();
}, 60_000);

test('a master dies: a producer fails fast until its replica has taken over, a worker waits for that', async () => {
  const [producer, worker] = await Promise.all([connect('producer'), connect('worker')]);
  const key = 'taken over';
  await increment(producer, [key], [], { replicas: 1 });
  const master = await cluster.masterOf(key);
  await master.kill();

  const waiting = increment(worker, [key], []);
  const start = performance.now();
  await expect(increment(producer, [key], [], { replicas: 1 })).rejects.toThrow();
  expect(performance.now() - start).toBeLessThan(2_000);
  expect(await waiting).toBe(2);
  await vi.waitFor(async () => expect(await increment(producer, [key], [])).toBe(3), 10_000);

  await master.restart();
  await cluster.settle();
}, 60_000);

test('a master hangs: commands fail in time, and go on where its replica takes over', async () => {
  const producer = await connect('producer');
  const key = 'frozen';
  await increment(producer, [key], []);
  const master = await cluster.masterOf(key);
  process.kill(master.pid, 'SIGSTOP');
  try {
    const start = performance.now();
    await expect(increment(producer, [key], [])).rejects.toThrow('Command timed out');
    expect(performance.now() - start).toBeLessThan(2_000);
    await vi.waitFor(() => increment(producer, [key], []), { timeout: 15_000, interval: 100 });
  } finally {
    process.kill(master.pid, 'SIGCONT');
  }
  await cluster.settle();
}, 60_000);
