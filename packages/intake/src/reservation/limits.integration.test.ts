import { randomUUID } from 'node:crypto';
import { connectRedis, type RedisConnection } from '@leadgate/boot';
import { testRedis } from '@leadgate/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { limitsKey } from '../keys.ts';
import { createLimits } from './limits.ts';
import { openWorkspace } from './open-workspace.ts';
import type { LimitUse, Reservation } from './reservation.ts';
import { createReserver, type Reserver } from './reserver.ts';

let redis: RedisConnection;
let other: RedisConnection;
beforeAll(async () => {
  const { url } = await testRedis();
  redis = connectRedis(url, { role: 'worker' });
  other = connectRedis(url, { role: 'worker' });
});
afterAll(() => {
  redis.disconnect();
  other.disconnect();
});

/** Does it in a new workspace, and again where the minute of Redis changed meanwhile. */
async function inOneMinute<T>(run: (workspaceId: string) => Promise<T>): Promise<T> {
  const minute = async () => Math.floor(Number((await redis.time())[0]) / 60);
  for (;;) {
    const workspaceId = randomUUID();
    await openWorkspace(redis, workspaceId);
    const before = await minute();
    const result = await run(workspaceId);
    if ((await minute()) === before) return result;
  }
}

function reserve(
  reserver: Reserver,
  workspaceId: string,
  limits: LimitUse[],
  idempotency?: { key: string; bodyHash: string },
): Promise<Reservation> {
  return reserver.reserve({
    submissionId: randomUUID(),
    workspaceId,
    linkId: 'link',
    offeredLeadId: randomUUID(),
    identityKeys: [],
    ...(idempotency && { idempotency }),
    limits,
  });
}

const times = <T>(n: number, make: (i: number) => T): T[] =>
  Array.from({ length: n }, (_, i) => make(i));
const kindsOf = (reservations: Reservation[]) => reservations.map(({ kind }) => kind);
const accepted = (reservations: Reservation[]) =>
  kindsOf(reservations).filter((kind) => kind === 'reserved').length;

test('two receivers at once let through exactly what a link allows, and no more', async () => {
  const all = await inOneMinute((workspaceId) => {
    const reservers = [createReserver(redis), createReserver(other)];
    return Promise.all(
      times(300, (i) => reserve(reservers[i % 2]!, workspaceId, [{ key: 'link:1', max: 137 }])),
    );
  });
  expect(accepted(all)).toBe(137);
  const limited = all.find((r) => r.kind === 'limited');
  expect(limited?.retryAfterSeconds).toSatisfy((n: number) => n >= 1 && n <= 60);
});

test('an address over its own limit does not use up that of the link', async () => {
  const kinds = await inOneMinute(async (workspaceId) => {
    const reserver = createReserver(redis);
    const link = { key: 'link:1', max: 5 };
    const all = await Promise.all([
      ...times(9, () => reserve(reserver, workspaceId, [link, { key: 'address:1', max: 2 }])),
      ...times(9, (i) =>
        reserve(reserver, workspaceId, [link, { key: `address:${i + 2}`, max: 2 }]),
      ),
    ]);
    return [all.slice(0, 9), all.slice(9)].map(accepted);
  });
  expect(kinds).toEqual([2, 3]);
});

test('a repeat of what was accepted is answered over the limit, and counted', async () => {
  const { kinds, counted } = await inOneMinute(async (workspaceId) => {
    const reserver = createReserver(redis);
    const key = { key: 'key', bodyHash: 'hash' };
    const limits = [{ key: 'link:1', max: 1 }];
    const all = await Promise.all([
      reserve(reserver, workspaceId, limits, key),
      reserve(reserver, workspaceId, limits),
      reserve(reserver, workspaceId, limits, key),
    ]);
    return { kinds: kindsOf(all), counted: await redis.hget(limitsKey(workspaceId), 'link:1') };
  });
  expect(kinds).toEqual(['reserved', 'limited', 'repeated']);
  expect(counted).toBe('2');
});

test('a workspace that is behind still counts, for what is kept elsewhere meanwhile', async () => {
  const kinds = await inOneMinute(async (workspaceId) => {
    await redis.hdel(`leadgate:{${workspaceId}}:state`, 'open');
    const reserver = createReserver(redis);
    const limits = [{ key: 'link:1', max: 2 }];
    return kindsOf(await Promise.all(times(3, () => reserve(reserver, workspaceId, limits))));
  });
  expect(kinds).toEqual(['behind', 'behind', 'limited']);
});

test('the next minute starts from nothing, and the counts of the last one are gone', async () => {
  const { kind, counts, seconds } = await inOneMinute(async (workspaceId) => {
    const name = limitsKey(workspaceId);
    await redis.hset(name, { window: '1', 'link:1': '9', 'address:1': '9' });
    const reserver = createReserver(redis);
    const { kind } = await reserve(reserver, workspaceId, [{ key: 'link:1', max: 5 }]);
    return { kind, counts: await redis.hgetall(name), seconds: await redis.ttl(name) };
  });
  expect(kind).toBe('reserved');
  expect(counts).toEqual({ window: counts.window, 'link:1': '1' });
  expect(counts.window).not.toBe('1');
  expect(seconds).toSatisfy((n: number) => n > 60 && n <= 120);
});

test('a receiver knows from its reservations what another let through', async () => {
  const current = await inOneMinute(async (workspaceId) => {
    const limits = [{ key: 'link:1', max: 50 }];
    const mine = createLimits();
    const reserver = createReserver(redis, { limits: mine });
    await Promise.all(times(40, () => reserve(createReserver(other), workspaceId, limits)));
    mine.count(workspaceId, 'link:1', 50);
    await reserve(reserver, workspaceId, limits);
    return mine.count(workspaceId, 'link:1', 50).current;
  });
  expect(current).toBe(42);
});
