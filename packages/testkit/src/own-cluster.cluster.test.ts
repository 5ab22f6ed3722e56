import { Cluster } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startRedisCluster, type OwnCluster } from './own-server.ts';

let cluster: OwnCluster;
let redis: Cluster;
beforeAll(async () => {
  cluster = await startRedisCluster();
  const { password } = new URL(cluster.urls[0] ?? '');
  redis = new Cluster([...cluster.urls], { redisOptions: { password } });
  redis.on('error', () => undefined);
}, 60_000);
afterAll(async () => {
  redis?.disconnect();
  await cluster?.stop();
});

test('three masters share the slots, and each has a replica', async () => {
  const masters = new Set<number>();
  const replicas = new Set<number>();
  for (const slot of [0, 6_000, 16_383]) {
    masters.add((await cluster.masterOf(slot)).port);
    for (const { port } of await cluster.replicasOf(slot)) replicas.add(port);
  }
  expect([masters.size, replicas.size]).toEqual([3, 3]);
});

test('a slot moves with its keys, and back', async () => {
  for (let n = 0; n < 250; n++) await redis.set(`{moved}:${n}`, n);
  const slot = await cluster.slotOf('{moved}:1');
  const from = await cluster.masterOf(slot);
  const to = await cluster.masterOf(slot < 8_192 ? 16_383 : 0);
  expect(await cluster.moveSlots([slot], to)).toBe(250);
  expect((await cluster.masterOf(slot)).port).toBe(to.port);
  expect(await redis.get('{moved}:249')).toBe('249');
  expect(await cluster.moveSlots([slot], from)).toBe(250);
});

test('a master that is killed gives way to its replica, and is that one’s replica when it is back', async () => {
  await redis.set('key', 'value');
  await redis.wait(1, 1_000);
  const master = await cluster.masterOf('key');
  await master.kill();
  await expect
    .poll(async () => (await cluster.masterOf('key')).port, { timeout: 15_000 })
    .not.toBe(master.port);
  await expect.poll(() => redis.get('key').catch(() => null), { timeout: 15_000 }).toBe('value');
  await master.restart();
  await cluster.settle();
  expect((await cluster.replicasOf('key')).map(({ port }) => port)).toEqual([master.port]);
}, 60_000);

test('flushed, no node has a key', async () => {
  for (let n = 0; n < 30; n++) await redis.set(`key-${n}`, n);
  await cluster.flush();
  for (let n = 0; n < 30; n++) expect(await redis.get(`key-${n}`)).toBeNull();
});
