import { randomUUID } from 'node:crypto';
import { connectRedis, type RedisConnection } from '@leadgate/boot';
import { testRedis } from '@leadgate/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { limitsKey } from '../keys.ts';
import { createLimits, type LimitUse } from './limits.ts';
import { openWorkspace } from './marker.ts';
import { createReserver, type Reservation, type Reserver } from './reserver.ts';

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

test('a heavy use passes while any is left, and leaves less for others', async () => {
  const kinds = await inOneMinute(async (workspaceId) => {
    const reserver = createReserver(redis);
    const link = { key: 'link:1', max: 10 };
    return kindsOf([
      await reserve(reserver, workspaceId, [{ ...link, weight: 9 }]),
      await reserve(reserver, workspaceId, [{ ...link, weight: 64 }]),
      await reserve(reserver, workspaceId, [link]),
    ]);
  });
  expect(kinds).toEqual(['reserved', 'reserved', 'limited']);
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

describe('who brings known people together', () => {
  const address = { key: 'address:1', max: 6_000 };
  const joinLimit = { key: 'join:address:1', max: 120 };
  const post = async (workspaceId: string, identityKeys: string[], joins?: LimitUse) => {
    const reservation = await createReserver(redis).reserve({
      submissionId: randomUUID(),
      workspaceId,
      linkId: 'link',
      offeredLeadId: randomUUID(),
      identityKeys,
      limits: [address],
      ...(joins && { joinLimit: joins }),
    });
    if (reservation.kind !== 'reserved') throw new Error(reservation.kind);
    return reservation;
  };

  test('cannot ask whether a person is known more often than that, nor get the phones of others', async () => {
    const known = times(400, (i) => `phone:known ${i}`);
    const unknown = times(400, (i) => `phone:unknown ${i}`);
    const { told, taken } = await inOneMinute(async (workspaceId) => {
      await Promise.all(known.map((phone) => post(workspaceId, [phone])));
      const mine = await post(workspaceId, ['email:mine 0']);
      let told = 0;
      let taken = 0;
      for (let i = 0; i < 400; i++) {
        // A lead has fifty identities at most: a new one of mine every so often.
        const email = `email:mine ${Math.floor(i / 40)}`;
        const me = i % 40 === 0 ? await post(workspaceId, [email]) : mine;
        const leadOf = async (phone: string) => {
          const asked = await post(workspaceId, [email, phone], joinLimit);
          const alone = await post(workspaceId, [phone]);
          return { isOne: asked.leadId === alone.leadId, me };
        };
        const [a, b] = [await leadOf(known[i]!), await leadOf(unknown[i]!)];
        if (a.isOne !== b.isOne) told += 1;
        if (b.isOne) taken += 1;
      }
      return { told, taken };
    });
    // Each asks twice here, of one who is known and of one who is not.
    expect(told).toBe(60);
    expect(taken).toBe(60);
  });

  test('does not hear from a new email that its phone is known, however it asks', async () => {
    const told = await inOneMinute(async (workspaceId) => {
      const few = { ...joinLimit, max: 1 };
      await post(workspaceId, ['phone:known']);
      await post(workspaceId, ['email:mine', 'phone:known'], few);
      const answers = [];
      for (const phone of ['phone:known', 'phone:unknown']) {
        const both = await post(workspaceId, [`email:new with ${phone}`, phone], few);
        const email = await post(workspaceId, [`email:new with ${phone}`]);
        const alone = await post(workspaceId, [phone]);
        answers.push([both.leadId === email.leadId, both.leadId === alone.leadId]);
      }
      return answers;
    });
    expect(told[0]).toEqual(told[1]);
  });

  test('a carrier’s address is not harmed: 5,000 posts, one in fifty of them of someone with a new phone', async () => {
    const left = await inOneMinute(async (workspaceId) => {
      const reservers = [createReserver(redis), createReserver(other)];
      const all = await Promise.all(
        times(5_000, (i) =>
          reservers[i % 2]!.reserve({
            submissionId: randomUUID(),
            workspaceId,
            linkId: 'link',
            offeredLeadId: randomUUID(),
            identityKeys: [i % 50 === 49 ? `email:${i - 1}` : `email:${i}`, `phone:${i}`],
            limits: [address],
            joinLimit,
          }),
        ),
      );
      return all.filter((one) => one.kind !== 'reserved' || one.joinLimited === true);
    });
    expect(left).toEqual([]);
  });
});
