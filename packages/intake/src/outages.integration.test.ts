import { randomUUID } from 'node:crypto';
import { startRedisServer, type OwnServer } from '@leadgate/testkit';
import { Redis } from 'ioredis';
import { afterEach, expect, test } from 'vitest';
import { confirmWorkspaces, openWorkspace } from './reservation/marker.ts';
import { directoryRevision, refillAll, moveIdentities } from './refill/refill.ts';
import { pushRejected, takeRejected } from './rejected.ts';
import { createReserver, type Reserver } from './reservation/reserver.ts';

let server: OwnServer | undefined;
let redis: Redis | undefined;
afterEach(async () => {
  redis?.disconnect();
  await server?.stop();
});

async function start(
  settings: Record<string, string>,
): Promise<{ server: OwnServer; redis: Redis }> {
  server = await startRedisServer({ settings });
  redis = new Redis(server.url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 500,
    retryStrategy: () => 50,
  });
  redis.on('error', () => undefined);
  await new Promise<void>((resolve) => void redis?.once('ready', resolve));
  return { server, redis };
}

const reserve = (reserver: Reserver, workspaceId: string, identityKeys: string[] = []) =>
  reserver.reserve({
    submissionId: randomUUID(),
    workspaceId,
    linkId: 'link',
    offeredLeadId: randomUUID(),
    identityKeys,
    idempotency: { key: randomUUID(), bodyHash: 'hash' },
    limits: [{ key: 'link:1', max: 10 }],
  });

test('everything one script touches is declared and in one slot of a Cluster', async () => {
  const { redis } = await start({ 'cluster-enabled': 'yes' });
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', '0', '16383');
  await expect
    .poll(() => redis.call('CLUSTER', 'INFO'), { timeout: 10_000 })
    .toContain('cluster_state:ok');
  const workspaceId = randomUUID();
  const lead = randomUUID();
  await openWorkspace(redis, workspaceId);
  const reserver = createReserver(redis);
  const reservations = await Promise.all([
    reserve(reserver, workspaceId, ['email:a', 'phone:a']),
    reserve(reserver, workspaceId, ['email:b', 'phone:a', 'phone:b']),
  ]);
  expect(reservations.map(({ kind }) => kind)).toEqual(['reserved', 'reserved']);
  await moveIdentities(redis, workspaceId, [{ key: 'email:a', from: lead, to: lead }]);
  await refillAll(redis, {
    directoryRevision: () => Promise.resolve(3),
    workspaceIds: () => Promise.resolve([workspaceId]),
    highestOrders: () => Promise.resolve(new Map()),
    links: async function* () {
      yield await Promise.resolve([]);
    },
    identities: async function* () {
      yield await Promise.resolve(['a', 'b', 'c'].map((key) => ({ key, leadId: lead })));
    },
  });
  expect(await directoryRevision(redis)).toBe(3);
  await pushRejected(redis, {
    ...{ id: randomUUID(), workspaceId, linkId: 'link', stamp: 1, code: 'invalid-lead' },
    ...{ errors: [], body: '', bodyType: 'json' },
  });
  expect(await takeRejected(redis, () => Promise.resolve())).toBe(1);
});

test('a full Redis refuses a reservation whole, and says why', async () => {
  const { redis } = await start({});
  const workspaceId = randomUUID();
  await openWorkspace(redis, workspaceId);
  const before = await redis.keys('*');
  await redis.config('SET', 'maxmemory', '1');
  const reserver = createReserver(redis);
  await expect(reserve(reserver, workspaceId, ['email:a'])).rejects.toMatchObject({
    name: 'ReservationError',
    code: 'OOM',
  });
  await redis.config('SET', 'maxmemory', '0');
  expect(await redis.keys('*')).toEqual(before);
  expect((await reserve(reserver, workspaceId, ['email:a'])).kind).toBe('reserved');
});

test('reservations fail while Redis is away, and go on by themselves with what they knew', async () => {
  const { server, redis } = await start({});
  const workspaceId = randomUUID();
  await openWorkspace(redis, workspaceId);
  const reserver = createReserver(redis);
  const before = await reserve(reserver, workspaceId, ['email:a']);
  await server.kill();
  await expect(reserve(reserver, workspaceId, ['email:a'])).rejects.toThrow(
    'the reservation failed',
  );
  await server.restart();
  // What a worker does once Redis is back.
  const source = { highestOrders: () => Promise.resolve(new Map<string, number>()) };
  await expect
    .poll(() => confirmWorkspaces(redis, source, [workspaceId]).catch(() => null))
    .toMatchObject({ confirmed: 1 });
  await expect
    .poll(() => reserve(reserver, workspaceId, ['email:a']).catch(() => null), { timeout: 5_000 })
    .toMatchObject({ kind: 'reserved', leadId: 'leadId' in before && before.leadId });
});
