import { connectRedis } from '@leadgate/boot';
import type { RejectedBody } from '@leadgate/contract';
import { pushRejected } from '@leadgate/intake';
import { testRedis } from '@leadgate/testkit';
import { afterEach, expect, test, vi } from 'vitest';
import { createCloses } from '../../test/worker.ts';
import { createRejectedTask } from './rejected-task.ts';

const closes = createCloses();
afterEach(closes.all);

async function redisWith(bodies: RejectedBody[]) {
  const redis = connectRedis((await testRedis()).url, { role: 'admin' });
  closes.add('redis', () => redis.disconnect());
  for (const body of bodies) await pushRejected(redis, body);
  return redis;
}

const rejected = (id: string): RejectedBody => ({
  id,
  workspaceId: 'w',
  linkId: 'l',
  stamp: 1,
  code: 'invalid-lead',
  errors: [],
  body: '{}',
  bodyType: 'json',
});
const trim = () => Promise.resolve(0);
const refusing = new Error('data');
const failureOf = (error: unknown) => (error === refusing ? 'data' : 'unavailable');

test('a refused body that Postgres cannot hold does not keep the others from moving', async () => {
  const redis = await redisWith(['a', 'poison', 'b'].map(rejected));
  const saved: string[] = [];
  const save = (bodies: RejectedBody[]) => {
    if (bodies.some(({ id }) => id === 'poison')) return Promise.reject(refusing);
    saved.push(...bodies.map(({ id }) => id));
    return Promise.resolve();
  };
  const logger = { warn: vi.fn() };
  const task = createRejectedTask(redis, { save, trim, failureOf, logger });
  await task.run();
  expect(saved).toEqual(['a', 'b']);
  expect(logger.warn).toHaveBeenCalledOnce();
  expect(await task.run()).toBeNull();
});

test('refused bodies stay in Redis while Postgres is away', async () => {
  const redis = await redisWith(['a', 'b'].map(rejected));
  const save = vi.fn(() => Promise.reject(new Error('away')));
  const task = createRejectedTask(redis, { save, trim, failureOf, logger: { warn: vi.fn() } });
  await expect(task.run()).rejects.toThrow('away');
  save.mockImplementation(() => Promise.resolve() as never);
  expect(await task.run()).toEqual({ bodies: 2, trimmed: 0 });
});

test('each link that bodies came for is trimmed, and no other', async () => {
  const redis = await redisWith([
    { ...rejected('a'), linkId: 'one' },
    { ...rejected('b'), linkId: 'one' },
    { ...rejected('c'), linkId: 'two' },
  ]);
  const trimmed: string[] = [];
  const task = createRejectedTask(redis, {
    save: () => Promise.resolve(),
    trim: (linkId) => Promise.resolve(trimmed.push(linkId)),
    failureOf,
    logger: { warn: vi.fn() },
  });
  expect(await task.run()).toMatchObject({ bodies: 3 });
  expect(trimmed.toSorted()).toEqual(['one', 'two']);
});
