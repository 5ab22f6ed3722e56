import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { connectRedis, isCluster, mastersOf, type RedisConnection } from '@leadgate/boot';
import { testRedis } from '@leadgate/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { claimsKey, identitiesKey, identityRef, REFILL_REQUESTS, stateKey } from '../keys.ts';
import { packUuid } from '@leadgate/contract';
import { moveIdentities } from '../refill/refill.ts';
import { openWorkspace } from './marker.ts';
import { createReserver, type Reservation, type ReservationRequest } from './reserver.ts';

let redis: RedisConnection;
let other: RedisConnection;
let keys: (pattern: string) => Promise<string[]>;
beforeAll(async () => {
  const given = await testRedis();
  const { url } = given;
  keys = given.keys;
  redis = connectRedis(url, { role: 'worker' });
  other = connectRedis(url, { role: 'worker' });
});
afterAll(() => {
  redis.disconnect();
  other.disconnect();
});

async function newWorkspace(): Promise<string> {
  const workspaceId = randomUUID();
  await openWorkspace(redis, workspaceId);
  return workspaceId;
}

function requestIn(
  workspaceId: string,
  identityKeys: string[] = [],
  more: Partial<ReservationRequest> = {},
): ReservationRequest {
  return {
    submissionId: randomUUID(),
    workspaceId,
    linkId: 'link',
    offeredLeadId: randomUUID(),
    identityKeys,
    limits: [],
    ...more,
  };
}

function reserved(reservation: Reservation | undefined) {
  if (reservation?.kind !== 'reserved') throw new Error(`not reserved: ${reservation?.kind}`);
  return reservation;
}

const forgetScripts = () => Promise.all(mastersOf(redis).map((node) => node.script('FLUSH')));
const orderOf = (reservation: Reservation) => ('order' in reservation ? reservation.order : NaN);
const times = <T>(n: number, make: (i: number) => T): T[] =>
  Array.from({ length: n }, (_, i) => make(i));
const ownerOf = (workspaceId: string, key: string) => {
  const { bucket, field } = identityRef(key);
  return redis.hget(identitiesKey(workspaceId, bucket), field);
};

describe('which lead', () => {
  test('a person who is not known gets the offered lead, and keeps it', async () => {
    const reserver = createReserver(redis);
    const first = requestIn(await newWorkspace(), ['email:a@x.io', 'phone:+5511987654321']);
    const lead = first.offeredLeadId;
    expect(await reserver.reserve(first)).toMatchObject({
      kind: 'reserved',
      leadId: lead,
      identities: first.identityKeys.map((key) => ({ key, owner: lead })),
    });
    for (const key of first.identityKeys) {
      const again = await reserver.reserve(requestIn(first.workspaceId, [key]));
      expect(reserved(again).leadId).toBe(lead);
    }
  });

  test('someone without identities is a new lead every time', async () => {
    const reserver = createReserver(redis);
    const workspaceId = await newWorkspace();
    const requests = times(3, () => requestIn(workspaceId));
    const leads = await Promise.all(requests.map((r) => reserver.reserve(r)));
    expect(leads.map((r) => reserved(r).leadId)).toEqual(requests.map((r) => r.offeredLeadId));
  });

  test('the email decides over the phone, which stays with its lead', async () => {
    const reserver = createReserver(redis);
    const workspaceId = await newWorkspace();
    const a = reserved(await reserver.reserve(requestIn(workspaceId, ['email:a'])));
    const b = reserved(await reserver.reserve(requestIn(workspaceId, ['phone:b'])));
    const both = reserved(await reserver.reserve(requestIn(workspaceId, ['email:a', 'phone:b'])));
    expect(both.leadId).toBe(a.leadId);
    expect(both.identities).toEqual([
      { key: 'email:a', owner: a.leadId },
      { key: 'phone:b', owner: b.leadId },
    ]);
  });

  test('a phone that is known brings a new email to its lead', async () => {
    const reserver = createReserver(redis);
    const workspaceId = await newWorkspace();
    const a = reserved(await reserver.reserve(requestIn(workspaceId, ['phone:a'])));
    const b = reserved(await reserver.reserve(requestIn(workspaceId, ['email:b', 'phone:a'])));
    expect(b.identities.map(({ owner }) => owner)).toEqual([a.leadId, a.leadId]);
    const c = reserved(await reserver.reserve(requestIn(workspaceId, ['email:b'])));
    expect(c.leadId).toBe(a.leadId);
  });

  test('two workspaces know nothing of each other', async () => {
    const reserver = createReserver(redis);
    const [one, two] = [await newWorkspace(), await newWorkspace()];
    const [a, b] = await Promise.all(
      [one, two].map((workspaceId) => reserver.reserve(requestIn(workspaceId, ['email:a']))),
    );
    expect(reserved(a).leadId).not.toBe(reserved(b).leadId);
  });

  test('200 posts of one person at once, from cold and over two receivers, are one lead', async () => {
    const workspaceId = await newWorkspace();
    const reservers = [createReserver(redis), createReserver(other)];
    const all = await Promise.all(
      times(200, (i) => reservers[i % 2]!.reserve(requestIn(workspaceId, ['email:a', 'phone:a']))),
    );
    expect(new Set(all.map((r) => reserved(r).leadId)).size).toBe(1);
    expect(new Set(all.map(orderOf)).size).toBe(200);
  });

  test('crossing pairs of emails and phones are at most two leads, with one owner a key', async () => {
    const workspaceId = await newWorkspace();
    const reservers = [createReserver(redis), createReserver(other)];
    const pairs = [
      ['email:1', 'phone:1'],
      ['email:2', 'phone:1'],
      ['email:1', 'phone:2'],
      ['email:2', 'phone:2'],
    ];
    const all = await Promise.all(
      times(200, (i) => reservers[i % 2]!.reserve(requestIn(workspaceId, pairs[i % 4]))),
    );
    const owners = new Map<string, Set<string | null>>();
    for (const { identities } of all.map(reserved))
      for (const { key, owner } of identities)
        owners.set(key, (owners.get(key) ?? new Set()).add(owner));
    expect([...owners.values()].map(({ size }) => size)).toEqual([1, 1, 1, 1]);
    expect(new Set(all.map((r) => reserved(r).leadId)).size).toBeLessThanOrEqual(2);
  });

  test('a lead never has more than 50 identities, however they come', async () => {
    const workspaceId = await newWorkspace();
    const reserver = createReserver(redis);
    const lead = reserved(await reserver.reserve(requestIn(workspaceId, ['email:0', 'phone:0'])));
    const more = [
      ...(await Promise.all(
        times(40, (i) => reserver.reserve(requestIn(workspaceId, ['email:0', `phone:${i + 1}`]))),
      )),
      ...(await Promise.all(
        times(20, (i) => reserver.reserve(requestIn(workspaceId, [`email:${i + 1}`, 'phone:0']))),
      )),
    ].map(reserved);
    const owners = more.flatMap(({ identities }) => identities.map(({ owner }) => owner));
    expect(owners.filter((owner) => owner === null)).toHaveLength(60 - 48);
    expect(new Set(more.map(({ leadId }) => leadId))).toEqual(new Set([lead.leadId]));
    // A key that was left unowned is free for whoever comes with it alone.
    const free = more.at(-1)!.identities[0]!;
    expect(free.owner).toBeNull();
    const stranger = reserved(await reserver.reserve(requestIn(workspaceId, [free.key])));
    expect(stranger.leadId).not.toBe(lead.leadId);
  });

  test('a new lead with more keys than it may have owns the first 50', async () => {
    const keys = times(60, (i) => `email:${i}`);
    const request = requestIn(await newWorkspace(), keys);
    const { identities } = reserved(await createReserver(redis).reserve(request));
    expect(identities.filter(({ owner }) => owner === null)).toEqual(
      keys.slice(50).map((key) => ({ key, owner: null })),
    );
  });

  test('a key twice in one request is one key', async () => {
    const request = requestIn(await newWorkspace(), ['email:a', 'email:a']);
    const { identities, leadId } = reserved(await createReserver(redis).reserve(request));
    expect(identities.map(({ owner }) => owner)).toEqual([leadId, leadId]);
  });
});

describe('order', () => {
  test('orders are distinct and rise as requests were made, over two receivers at once', async () => {
    const workspaceId = await newWorkspace();
    const runs = [redis, other].map(async (connection) => {
      const reserver = createReserver(connection);
      const orders: number[] = [];
      for (let i = 0; i < 20; i++) {
        const group = times(7, () => reserver.reserve(requestIn(workspaceId)));
        orders.push(...(await Promise.all(group)).map(orderOf));
      }
      return orders;
    });
    const orders = await Promise.all(runs);
    for (const own of orders) expect(own).toEqual(own.toSorted((a, b) => a - b));
    expect(new Set(orders.flat()).size).toBe(280);
  });

  test('orders go on rising when the clock of Redis stands behind them', async () => {
    const workspaceId = randomUUID();
    const future = Date.now() * 1_000 + 3_600_000_000;
    await openWorkspace(redis, workspaceId, future);
    const reserver = createReserver(redis);
    const orders = await Promise.all(times(3, () => reserver.reserve(requestIn(workspaceId))));
    expect(orders.map(orderOf)).toEqual([future + 1, future + 2, future + 3]);
  });
});

describe('idempotency', () => {
  const idempotency = { key: 'key', bodyHash: 'hash of the body' };

  test('a retry after a crash between reserving and enqueuing is the same submission', async () => {
    const workspaceId = await newWorkspace();
    const b = reserved(await createReserver(redis).reserve(requestIn(workspaceId, ['phone:b'])));
    const first = requestIn(workspaceId, ['email:a', 'phone:b'], { idempotency });
    const a = reserved(await createReserver(redis).reserve(requestIn(workspaceId, ['email:a'])));
    const before = reserved(await createReserver(redis).reserve(first));
    const retry = requestIn(workspaceId, ['email:a', 'phone:b'], { idempotency });
    expect(await createReserver(other).reserve(retry)).toEqual({
      kind: 'repeated',
      submissionId: first.submissionId,
      leadId: a.leadId,
      identities: [
        { key: 'email:a', owner: a.leadId },
        { key: 'phone:b', owner: b.leadId },
      ],
      order: before.order,
    });
  });

  test('the same key many times in one moment is one submission', async () => {
    const workspaceId = await newWorkspace();
    const reserver = createReserver(redis);
    const all = await Promise.all(
      times(150, () => reserver.reserve(requestIn(workspaceId, ['email:a'], { idempotency }))),
    );
    const { order, leadId } = reserved(all[0]);
    expect(all.slice(1).map((r) => r.kind)).toEqual(times(149, () => 'repeated'));
    expect(new Set(all.map(orderOf))).toEqual(new Set([order]));
    expect(new Set(all.map((r) => 'leadId' in r && r.leadId))).toEqual(new Set([leadId]));
  });

  test('another body under the key is told so, and claims nothing', async () => {
    const workspaceId = await newWorkspace();
    const reserver = createReserver(redis);
    await reserver.reserve(requestIn(workspaceId, ['email:a'], { idempotency }));
    const another = { key: 'key', bodyHash: 'another' };
    expect(
      await reserver.reserve(requestIn(workspaceId, ['email:b'], { idempotency: another })),
    ).toEqual({ kind: 'key-reused' });
    expect(await ownerOf(workspaceId, 'email:b')).toBeNull();
  });

  test('a key belongs to its link, and for a day', async () => {
    const workspaceId = await newWorkspace();
    const reserver = createReserver(redis);
    const links = await Promise.all(
      ['one', 'two'].map((linkId) =>
        reserver.reserve(requestIn(workspaceId, [], { idempotency, linkId })),
      ),
    );
    expect(links.map(({ kind }) => kind)).toEqual(['reserved', 'reserved']);
    const [record] = await keys(`leadgate:{${workspaceId}}:k:*`);
    expect(await redis.ttl(record ?? '')).toBeGreaterThan(86_390);
  });

  test('a key that the workspace reads otherwise since is nobody’s in the repeat', async () => {
    const workspaceId = await newWorkspace();
    const reserver = createReserver(redis);
    const first = await reserver.reserve(
      requestIn(workspaceId, ['email:a', 'phone:1'], { idempotency }),
    );
    const repeat = await reserver.reserve(
      requestIn(workspaceId, ['email:a', 'phone:+551'], { idempotency }),
    );
    expect(repeat.kind === 'repeated' && repeat.identities).toEqual([
      { key: 'email:a', owner: reserved(first).leadId },
      { key: 'phone:+551', owner: null },
    ]);
  });

  test('a workspace that is behind still repeats what its clock vouches for, and no more', async () => {
    const workspaceId = await newWorkspace();
    const reserver = createReserver(redis);
    const first = reserved(
      await reserver.reserve(requestIn(workspaceId, ['email:a'], { idempotency })),
    );
    const retry = () => createReserver(other).reserve(requestIn(workspaceId, [], { idempotency }));
    await redis.hdel(stateKey(workspaceId), 'open');
    expect((await retry()).kind).toBe('repeated');
    await redis.hset(stateKey(workspaceId), 'clock', first.order - 1);
    expect(await retry()).toEqual({ kind: 'behind' });
  });

  test('no later order is below that of a record whose clock was lost', async () => {
    const workspaceId = randomUUID();
    await openWorkspace(redis, workspaceId, Date.now() * 1_000 + 3_600_000_000);
    const request = requestIn(workspaceId, [], { idempotency });
    const first = reserved(await createReserver(redis).reserve(request));
    await redis.del(stateKey(workspaceId));
    await openWorkspace(redis, workspaceId);
    const reserver = createReserver(redis);
    const [repeat, next] = await Promise.all([
      reserver.reserve(requestIn(workspaceId, [], { idempotency })),
      reserver.reserve(requestIn(workspaceId)),
    ]);
    expect(orderOf(repeat)).toBe(first.order);
    expect(orderOf(next)).toBe(first.order + 1);
  });
});

describe('a cold or older Redis', () => {
  test('without a marker nothing is claimed, and a refill is asked for', async () => {
    const workspaceId = randomUUID();
    expect(await createReserver(redis).reserve(requestIn(workspaceId, ['email:a']))).toEqual({
      kind: 'behind',
    });
    expect(await keys(`leadgate:{${workspaceId}}:*`)).toEqual([]);
    await expect.poll(() => redis.sismember(REFILL_REQUESTS, workspaceId)).toBe(1);
  });

  test('a clock that was set back stops every receiver, not only the one that remembers', async () => {
    const workspaceId = await newWorkspace();
    const remembers = createReserver(redis);
    const { order } = reserved(await remembers.reserve(requestIn(workspaceId, ['email:a'])));
    await redis.hset(stateKey(workspaceId), 'clock', order - 1);
    expect(await remembers.reserve(requestIn(workspaceId, ['email:b']))).toEqual({
      kind: 'behind',
    });
    const fresh = createReserver(other);
    expect(await fresh.reserve(requestIn(workspaceId, ['email:b']))).toEqual({ kind: 'behind' });
    expect(await ownerOf(workspaceId, 'email:b')).toBeNull();

    await openWorkspace(redis, workspaceId, order - 1_000);
    expect(orderOf(await fresh.reserve(requestIn(workspaceId)))).toBeGreaterThan(order);
  });

  test('once Redis is emptied, receivers claim nothing until the workspace is opened', async () => {
    const workspaceId = await newWorkspace();
    const reserver = createReserver(redis);
    const { order } = reserved(await reserver.reserve(requestIn(workspaceId)));
    await redis.del(...(await keys(`leadgate:{${workspaceId}}:*`)));
    await forgetScripts();
    expect(await reserver.reserve(requestIn(workspaceId))).toEqual({ kind: 'behind' });
    await openWorkspace(redis, workspaceId);
    expect(orderOf(await reserver.reserve(requestIn(workspaceId)))).toBeGreaterThan(order);
  });

  test('opening never lowers a clock, and starts it no lower than the time', async () => {
    const workspaceId = randomUUID();
    const clock = async () => Number(await redis.hget(stateKey(workspaceId), 'clock'));
    const before = Number((await redis.time())[0]) * 1_000_000;
    await openWorkspace(redis, workspaceId);
    expect(await clock()).toBeGreaterThanOrEqual(before);
    await openWorkspace(redis, workspaceId, before + 3_600_000_000);
    await openWorkspace(redis, workspaceId);
    expect(await clock()).toBe(before + 3_600_000_000);
  });
});

describe('failure', () => {
  test('a script that fails claims nothing for anyone of its group, and names nobody', async () => {
    const workspaceId = await newWorkspace();
    const { bucket } = identityRef('email:bad@x.io');
    await redis.set(identitiesKey(workspaceId, bucket), 'not a hash');
    const before = await redis.hgetall(stateKey(workspaceId));
    const reserver = createReserver(redis);
    const idempotency = { key: 'key', bodyHash: 'hash' };
    const outcomes = await Promise.allSettled([
      reserver.reserve(requestIn(workspaceId, ['email:good@x.io'], { idempotency })),
      reserver.reserve(requestIn(workspaceId, ['email:bad@x.io'])),
    ]);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'ReservationError' } });
      // Neither in its message nor in anything that hangs from it.
      const reason: unknown = outcome.status === 'rejected' ? outcome.reason : null;
      expect(inspect(reason, { showHidden: true })).not.toMatch(/x\.io|command|args/);
    }
    expect(await ownerOf(workspaceId, 'email:good@x.io')).toBeNull();
    expect(await redis.hgetall(stateKey(workspaceId))).toEqual(before);
    expect(await keys(`leadgate:{${workspaceId}}:k:*`)).toEqual([]);
  });

  test('a malformed request is refused without failing the group it would be in', async () => {
    const workspaceId = await newWorkspace();
    const reserver = createReserver(redis);
    const outcomes = await Promise.allSettled([
      reserver.reserve(requestIn(workspaceId, [], { offeredLeadId: 'no uuid' })),
      reserver.reserve(requestIn(workspaceId, ['email:a'])),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  test('scripts that Redis has forgotten are sent again, pipelined ones too', async () => {
    const workspaceId = await newWorkspace();
    const pipelined = isCluster(redis)
      ? redis.duplicate([], { enableAutoPipelining: true })
      : redis.duplicate({ enableAutoPipelining: true });
    for (const connection of [redis, pipelined]) {
      const reserver = createReserver(connection);
      await reserver.reserve(requestIn(workspaceId));
      await forgetScripts();
      const all = await Promise.all(
        times(250, () => reserver.reserve(requestIn(workspaceId, ['email:a']))),
      );
      expect(new Set(all.map((r) => reserved(r).leadId)).size).toBe(1);
    }
    pipelined.disconnect();
  });
});

describe('moves', () => {
  test('a key moves from the lead it is expected at, or to where Redis has none, and else stays', async () => {
    const workspaceId = await newWorkspace();
    const [a, b, c] = [randomUUID(), randomUUID(), randomUUID()];
    const reserver = createReserver(redis);
    await reserver.reserve(requestIn(workspaceId, ['email:a'], { offeredLeadId: a }));
    await reserver.reserve(requestIn(workspaceId, ['email:b'], { offeredLeadId: b }));
    await moveIdentities(redis, workspaceId, [
      { key: 'email:a', from: a, to: c },
      { key: 'email:b', from: a, to: c },
      { key: 'email:new', from: a, to: c },
    ]);
    const owners = await Promise.all(
      ['email:a', 'email:b', 'email:new'].map((key) =>
        reserver.reserve(requestIn(workspaceId, [key])),
      ),
    );
    expect(owners.map((r) => reserved(r).leadId)).toEqual([c, b, c]);
  });

  test('moved keys count towards what their new lead may have, and no longer for the old one', async () => {
    const workspaceId = await newWorkspace();
    const [a, b] = [randomUUID(), randomUUID()];
    const reserver = createReserver(redis);
    const keys = times(50, (i) => `email:${i}`);
    await reserver.reserve(requestIn(workspaceId, keys, { offeredLeadId: a }));
    await reserver.reserve(requestIn(workspaceId, ['phone:b'], { offeredLeadId: b }));
    await moveIdentities(
      redis,
      workspaceId,
      keys.map((key) => ({ key, from: a, to: b })),
    );
    expect(await redis.hgetall(claimsKey(workspaceId))).toEqual({ [packUuid(b)]: '50' });
    const full = await reserver.reserve(requestIn(workspaceId, ['phone:b', 'email:new']));
    expect(reserved(full).identities[1]).toEqual({ key: 'email:new', owner: null });
  });
});
