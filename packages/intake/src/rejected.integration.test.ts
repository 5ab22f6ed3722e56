import { randomUUID } from 'node:crypto';
import type { RejectedBody } from '@leadgate/contract';
import { connectRedis, type RedisConnection } from '@leadgate/boot';
import { testRedis } from '@leadgate/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { REJECTED_BYTES, rejectedStream } from './keys.ts';
import { pushRejected, takeRejected } from './rejected.ts';

let redis: RedisConnection;
let flush: () => Promise<void>;
let keys: (pattern: string) => Promise<string[]>;
beforeAll(async () => {
  const database = await testRedis();
  redis = connectRedis(database.url, { role: 'worker' });
  ({ flush, keys } = database);
});
beforeEach(() => flush());
afterAll(() => {
  redis.disconnect();
});

function aBody(linkId: string, more: Partial<RejectedBody> = {}): RejectedBody {
  return {
    id: randomUUID(),
    workspaceId: 'workspace',
    linkId,
    stamp: Date.now() * 1_000,
    code: 'invalid-lead',
    errors: [{ pointer: '/email', code: 'email', detail: 'Not an email.' }],
    body: '{"email":"a@"}',
    bodyType: 'json',
    page: 'https://example.com/é',
    ...more,
  };
}

async function takeAll(): Promise<RejectedBody[]> {
  const taken: RejectedBody[] = [];
  await takeRejected(redis, async (bodies) => void taken.push(...bodies));
  return taken;
}

test('bodies of all links are moved once, and leave nothing behind', async () => {
  const bodies = Array.from({ length: 130 }, (_, i) => aBody(i % 2 ? 'one' : 'two'));
  for (const body of bodies) await pushRejected(redis, body);
  const taken = await takeAll();
  expect(taken.map(({ id }) => id).toSorted()).toEqual(bodies.map(({ id }) => id).toSorted());
  expect(taken.find(({ id }) => id === bodies[0]?.id)).toEqual(bodies[0]);
  expect(await takeAll()).toEqual([]);
  expect(await redis.hgetall(REJECTED_BYTES)).toEqual({ all: '0' });
  expect(await keys('leadgate:{rejected}:o*')).toEqual([]);
});

test('what could not be saved stays, and is taken again under the same ids', async () => {
  const body = aBody('one');
  await pushRejected(redis, body);
  await expect(takeRejected(redis, () => Promise.reject(new Error('away')))).rejects.toThrow(
    'away',
  );
  expect(await takeAll()).toEqual([body]);
});

test('what comes while others are saved is taken too', async () => {
  await pushRejected(redis, aBody('one'));
  const late = aBody('one');
  let saved = 0;
  const moved = await takeRejected(redis, async () => {
    if (saved++ === 0) await pushRejected(redis, late);
  });
  expect(moved).toBe(2);
});

test('two workers at once lose nothing and keep the count of bytes', async () => {
  for (let i = 0; i < 120; i++) await pushRejected(redis, aBody('one'));
  const [a, b] = await Promise.all([takeAll(), takeAll()]);
  expect(new Set([...a, ...b].map(({ id }) => id)).size).toBe(120);
  expect(await redis.hgetall(REJECTED_BYTES)).toEqual({ all: '0' });
});

test('a link keeps its newest thousand', async () => {
  const bodies = Array.from({ length: 1_010 }, () => aBody('one'));
  await Promise.all(bodies.map((body) => pushRejected(redis, body)));
  expect((await takeAll()).map(({ id }) => id)).toEqual(bodies.slice(10).map(({ id }) => id));
});

test('large bodies are bounded in bytes, and the oldest make room', async () => {
  const body = 'x'.repeat(64 * 1024);
  const bodies = Array.from({ length: 100 }, () => aBody('one', { body }));
  await Promise.all(bodies.map((each) => pushRejected(redis, each)));
  expect(Number(await redis.hget(REJECTED_BYTES, 'one'))).toBeLessThanOrEqual(4 * 1024 * 1024);
  const taken = await takeAll();
  expect(taken.at(-1)?.id).toBe(bodies.at(-1)?.id);
  expect(taken.length).toBeGreaterThan(50);
});

test('all links together are bounded too', async () => {
  await redis.hset(REJECTED_BYTES, 'all', 64 * 1024 * 1024);
  await pushRejected(redis, aBody('one'));
  expect(await redis.xlen(rejectedStream('one'))).toBe(0);
});

test('an entry that cannot be read is dropped and holds up nobody', async () => {
  await pushRejected(redis, aBody('one'));
  await redis.xadd(rejectedStream('one'), '*', 'v', '{"id":1}');
  const body = aBody('one');
  await pushRejected(redis, body);
  expect((await takeAll()).at(-1)).toEqual(body);
  expect(await redis.xlen(rejectedStream('one'))).toBe(0);
});
