import { expect, test as one, vi } from 'vitest';
import { createHealthChecks, type HealthSources } from './checks.ts';

// Most wait for a time limit.
const test = one.concurrent;

const waiting = { shard: 0, waiting: 10, paused: false };
const total = {
  processed: 5,
  lastProgressAt: 0,
  active: 3,
  refusal: null as string | null,
  unknownVersion: null as number | null,
  left: 0,
};
const progress = { ...total, shards: [{ shard: 0, ...total }] };
const idle = { ...total, active: 0 };
const never = () => new Promise<never>(() => {});

const checks = (change: Partial<HealthSources> = {}) =>
  createHealthChecks({
    progress: () => progress,
    shards: () => Promise.resolve([waiting]),
    redisIsReady: () => true,
    askRedisAnew: never,
    postgresIsAway: () => false,
    askPostgres: () => Promise.resolve(undefined),
    askPostgresAnew: never,
    warnings: [],
    stuckAfterMs: 60_000,
    ...change,
  });

test('nothing done for a minute while jobs wait: not alive', async () => {
  expect(await checks().live()).toMatchObject({ ok: false, body: { kind: 'stuck' } });
});

test('a shard that does not get on is not hidden by another one that does', async () => {
  const lively = { ...total, processed: 1_000, lastProgressAt: Date.now() };
  const { live } = checks({
    progress: () => ({
      ...lively,
      shards: [
        { shard: 0, ...lively },
        { shard: 1, ...idle },
      ],
    }),
    shards: () => Promise.resolve([waiting, { ...waiting, shard: 1 }]),
  });
  expect((await live()).ok).toBe(false);
});

test('a worker that calls Postgres away though Postgres answers is stuck all the same', async () => {
  const { live } = checks({ postgresIsAway: () => true });
  expect((await live()).ok).toBe(false);
});

test.each<[string, Partial<HealthSources>]>([
  ['is not connected', { redisIsReady: () => false }],
  ['hears nothing', { shards: never }],
])('a worker that %s though Redis answers a new connection is stuck', async (_, change) => {
  const { live } = checks({ ...change, askRedisAnew: () => Promise.resolve([waiting]) });
  expect(await live()).toMatchObject({ ok: false, body: { kind: 'stuck' } });
});

test('a worker that hears nothing of Postgres though it answers a new connection is stuck', async () => {
  const { live } = checks({
    postgresIsAway: () => true,
    askPostgres: never,
    askPostgresAnew: () => Promise.resolve(undefined),
  });
  expect(await live()).toMatchObject({ ok: false, body: { kind: 'stuck' } });
});

test('however often it is asked, one new connection at a time is made to find out', async () => {
  const askRedisAnew = vi.fn(never);
  const { live } = checks({ redisIsReady: () => false, askRedisAnew });
  await Promise.all([live(), live(), live()]);
  expect((await live()).ok).toBe(true);
  expect(askRedisAnew).toHaveBeenCalledTimes(1);
});

test.each<[string, Partial<HealthSources>]>([
  [
    'Postgres is away',
    { postgresIsAway: () => true, askPostgres: () => Promise.reject(new Error()) },
  ],
  ['Redis is full', { progress: () => ({ ...progress, refusal: 'OOM' }) }],
  ['Redis is away', { redisIsReady: () => false }],
  ['Redis does not answer', { shards: never }],
  [
    'Redis does not answer, and refuses a new connection',
    { shards: never, askRedisAnew: () => Promise.reject(new Error()) },
  ],
  [
    'an operator paused the queue',
    {
      progress: () => ({ ...idle, shards: [{ shard: 0, ...idle }] }),
      shards: () => Promise.resolve([{ ...waiting, paused: true }]),
    },
  ],
])('%s: alive, as starting again would not help', async (_, change) => {
  expect((await checks(change).live()).ok).toBe(true);
});

test.each<[string, Partial<HealthSources>, object]>([
  [
    'Redis is full',
    { progress: () => ({ ...progress, refusal: 'OOM' }) },
    { redis: 'full: raise maxmemory' },
  ],
  [
    'Redis is a replica',
    { progress: () => ({ ...progress, refusal: 'READONLY' }) },
    { redis: 'refuses (READONLY)' },
  ],
  ['Redis is frozen', { shards: never }, { redis: 'away' }],
  ['Postgres is frozen', { askPostgres: never }, { postgres: 'away' }],
  [
    'Postgres is read-only',
    { askPostgres: () => Promise.reject(new Error()) },
    { postgres: 'away' },
  ],
  ['jobs find no connection to Postgres', { postgresIsAway: () => true }, { postgres: 'away' }],
])('%s: not ready, and says why', async (_, change, body) => {
  vi.useFakeTimers();
  const answer = checks(change).ready();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await answer).toMatchObject({ ok: false, body });
  vi.useRealTimers();
});
