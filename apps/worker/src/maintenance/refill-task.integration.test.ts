import { randomUUID } from 'node:crypto';
import {
  createReserver,
  openWorkspace,
  refillDirectory,
  type RefillSource,
} from '@leadgate/intake';
import { testRedis } from '@leadgate/testkit';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLease } from './maintenance.ts';
import { createRefillTask } from './refill-task.ts';

let redis: Redis;
let flush: () => Promise<void>;
beforeEach(async () => {
  const server = await testRedis();
  redis = new Redis(server.url);
  flush = server.flush;
});
afterEach(async () => {
  await flush();
  await redis.quit();
});

async function* once<T>(page: T[]): AsyncGenerator<T[]> {
  if (page.length > 0) yield await Promise.resolve(page);
}

/** Postgres with one workspace, in which one person is known. */
function sourceOf(workspaceId: string, leadId: string, highestOrder: number): RefillSource {
  return {
    directoryRevision: () => Promise.resolve(1),
    workspaceIds: () => Promise.resolve([workspaceId]),
    links: () => once([]),
    identities: () => once([{ key: 'email:ana@example.com', leadId }]),
    highestOrders: (ids) => Promise.resolve(new Map(ids.map((id) => [id, highestOrder]))),
  };
}

const taskOf = (source: RefillSource, removed: string[] = []) =>
  createRefillTask(
    redis,
    {
      ...source,
      linkChanges: () => Promise.resolve(null),
      removedAmong: () => Promise.resolve(new Set(removed)),
    },
    createLease(redis, 'leadgate:upkeep', 5_000),
  );

const workspaceId = randomUUID();
const leadId = randomUUID();

function reserve(): ReturnType<ReturnType<typeof createReserver>['reserve']> {
  return createReserver(redis).reserve({
    submissionId: randomUUID(),
    workspaceId,
    linkId: randomUUID(),
    offeredLeadId: randomUUID(),
    identityKeys: ['email:ana@example.com'],
    limits: [],
  });
}

test('a Redis that came back older than Postgres is not claimed on, though no receiver remembers', async () => {
  const ahead = (Date.now() + 3_600_000) * 1_000;
  const source = sourceOf(workspaceId, leadId, ahead);
  await refillDirectory(redis, source, 1);
  await openWorkspace(redis, workspaceId);
  expect(await reserve()).toMatchObject({ kind: 'reserved' });
  await redis.hset(`leadgate:{${workspaceId}}:state`, 'open', 'of the Redis before');
  expect(await reserve()).toEqual({ kind: 'behind' });

  await taskOf(source).run();

  expect(await reserve()).toMatchObject({ kind: 'reserved', leadId });
  const after = await reserve();
  expect(after.kind === 'reserved' && after.order).toBeGreaterThan(ahead);
});

test('a Redis that is up to date is left alone', async () => {
  const source = sourceOf(workspaceId, leadId, 1);
  await refillDirectory(redis, source, 1);
  await openWorkspace(redis, workspaceId);
  expect(await taskOf(source).run()).toBeNull();
});

test('a workspace that was removed is not refilled when a late post asks for it, and leaves no key', async () => {
  const source = { ...sourceOf(randomUUID(), leadId, 1) };
  await refillDirectory(redis, source, 1);
  const reserver = createReserver(redis);
  expect(await reserve()).toEqual({ kind: 'behind' });
  await vi.waitFor(async () =>
    expect(await redis.smembers('leadgate:refill')).toEqual([workspaceId]),
  );

  await taskOf(source, [workspaceId]).run();

  expect(await reserver.isRemoved(workspaceId)).toBe(true);
  expect(await reserver.isRemoved(randomUUID())).toBe(false);
  expect(await redis.smembers('leadgate:refill')).toEqual([]);
  expect(await redis.keys(`*${workspaceId}*`)).toEqual([]);
});
