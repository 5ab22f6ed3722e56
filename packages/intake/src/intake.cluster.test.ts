import { awaitRedis, connectRedis, type RedisConnection, type RedisRole } from '@leadgate/boot';
import type { CaptureLink } from '@leadgate/contract';
import { sampleLink, startRedisCluster, type OwnCluster } from '@leadgate/testkit';
import { Redis } from 'ioredis';
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { openLinkDirectory } from './links/link-directory.ts';
import { putLinks } from './links/link-changes.ts';
import { refillAll, type RefillSource, refillWorkspace, moveIdentities } from './refill/refill.ts';
import { closedWorkspaces, requestedWorkspaces, openWorkspace } from './reservation/marker.ts';
import { pushRejected, takeRejected } from './rejected.ts';
import {
  createReserver,
  type Reservation,
  type ReservationRequest,
} from './reservation/reserver.ts';

const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
const closes: (() => unknown)[] = [];
let cluster: OwnCluster;
let redis: RedisConnection;

beforeAll(async () => void (cluster = await startRedisCluster()), 60_000);
beforeEach(async () => {
  await cluster.flush();
  redis = await connect('producer');
});
afterEach(async () => {
  for (let close = closes.pop(); close !== undefined; close = closes.pop()) await close();
});
afterAll(() => cluster?.stop());

async function connect(role: Exclude<RedisRole, 'subscriber'>): Promise<RedisConnection> {
  const connection = connectRedis(cluster.urls.join(','), { role });
  closes.push(() => connection.disconnect());
  await awaitRedis(connection);
  return connection;
}

const requestOf = (
  workspaceId: string,
  email: string,
  more: Partial<ReservationRequest> = {},
): ReservationRequest => ({
  submissionId: randomUUID(),
  workspaceId,
  linkId: '22222222-2222-4222-8222-222222222222',
  offeredLeadId: randomUUID(),
  identityKeys: [`email:${email}`, `phone:+${email.length}551199`],
  limits: [],
  ...more,
});

function reserved(reservation: Reservation): { leadId: string; order: number } {
  if (reservation.kind !== 'reserved') throw new Error(reservation.kind);
  return reservation;
}

const link = (workspaceId: string, state: 'open' | 'disabled' = 'open'): CaptureLink =>
  sampleLink({ workspaceId, state });

/** What Postgres holds: of each workspace some identities. */
const sourceOf = (
  workspaces: readonly string[],
  identities: readonly { key: string; leadId: string }[] = [],
  highestOrder = 0,
): RefillSource => ({
  directoryRevision: () => Promise.resolve(1),
  workspaceIds: () => Promise.resolve([...workspaces]),
  async *links() {
    yield await Promise.resolve(workspaces.map((id, n) => ({ code: `code-${n}`, link: link(id) })));
  },
  async *identities() {
    yield await Promise.resolve([...identities]);
  },
  highestOrders: (ids) => Promise.resolve(new Map(ids.map((id) => [id, highestOrder]))),
});

test('all that stands before the queue works, each workspace wherever its slot is', async () => {
  const workspaces = Array.from({ length: 12 }, () => randomUUID());
  const ports = new Set<number>();
  for (const id of workspaces) ports.add((await cluster.masterOf(`{${id}}`)).port);
  expect(ports.size).toBe(3);

  const known = randomUUID();
  await refillAll(redis, sourceOf(workspaces, [{ key: 'email:known@x', leadId: known }]));
  expect(await closedWorkspaces(redis, workspaces)).toEqual([]);
  const reserver = createReserver(redis, { waitReplicas: 1 });
  const answers = await Promise.all(
    workspaces.flatMap((id) => [
      reserver.reserve(requestOf(id, 'known@x')),
      reserver.reserve(requestOf(id, 'new@x', { idempotency: { key: 'k', bodyHash: 'b' } })),
      reserver.reserve(requestOf(id, 'new@x', { limits: [{ key: 'link:1', max: 1 }] })),
      reserver.reserve(requestOf(id, 'new@x', { limits: [{ key: 'link:1', max: 1 }] })),
    ]),
  );
  for (let n = 0; n < answers.length; n += 4) {
    const [first, second, third, fourth] = answers.slice(n, n + 4);
    expect(first).toMatchObject({ kind: 'reserved', leadId: known });
    expect(second?.kind).toBe('reserved');
    expect(third).toMatchObject({ kind: 'reserved', leadId: second && reserved(second).leadId });
    expect(fourth?.kind).toBe('limited');
  }

  const [workspaceId = ''] = workspaces;
  const merged = randomUUID();
  await moveIdentities(redis, workspaceId, [{ key: 'email:known@x', from: known, to: merged }]);
  expect(reserved(await reserver.reserve(requestOf(workspaceId, 'known@x'))).leadId).toBe(merged);

  for (const linkId of [randomUUID(), randomUUID()])
    await pushRejected(redis, {
      ...{ id: randomUUID(), workspaceId, linkId, stamp: 1, code: 'invalid-lead', errors: [] },
      ...{ body: '{}', bodyType: 'json' },
    });
  const saved: string[] = [];
  await takeRejected(redis, (bodies) =>
    Promise.resolve(void saved.push(...bodies.map((b) => b.id))),
  );
  expect(saved).toHaveLength(2);
});

test('a change of a link reaches a receiver, whichever nodes the two talk to', async () => {
  const workspaceId = randomUUID();
  await refillAll(redis, sourceOf([workspaceId]));
  const subscriber = connectRedis(cluster.urls.join(','), { role: 'subscriber' });
  closes.push(() => subscriber.disconnect());
  const directory = await openLinkDirectory(redis, subscriber, { logger });
  closes.push(() => directory.close());
  expect(await directory.find('code-0')).toMatchObject({ kind: 'found', link: { state: 'open' } });
  const admin = await connect('admin');
  await putLinks(admin, [{ code: 'code-0', link: link(workspaceId, 'disabled') }]);
  await vi.waitFor(() => expect(directory.peek('code-0')?.state).toBe('disabled'));
});

test('a receiver that was cut off from what is published compares, and loads what it has missed', async () => {
  const workspaceId = randomUUID();
  await refillAll(redis, sourceOf([workspaceId]));
  const subscriber = connectRedis(cluster.urls.join(','), { role: 'subscriber' });
  closes.push(() => subscriber.disconnect());
  const directory = await openLinkDirectory(redis, subscriber, { logger });
  closes.push(() => directory.close());
  // As the worker does after a change, and without a word of it.
  await redis.hset('leadgate:{links}:entries', {
    'code-0': JSON.stringify(link(workspaceId, 'disabled')),
    '@revision': 2,
  });
  await vi.waitFor(() => expect(directory.peek('code-0')?.state).toBe('disabled'), 15_000);
  expect(directory.complete).toBe(true);
});

test('a failover that loses the last reservations: nothing is claimed until Postgres has filled it in', async () => {
  const workspaceId = randomUUID();
  await openWorkspace(redis, workspaceId);
  const receiver = createReserver(redis);
  const place = `{${workspaceId}}`;
  reserved(await receiver.reserve(requestOf(workspaceId, 'first@x')));
  const [replica] = await cluster.replicasOf(place);
  const master = await cluster.masterOf(place);
  // From here on the replica hears nothing more, and goes on to be one that may take over.
  const atReplica = new Redis(replica?.url ?? '');
  const atMaster = new Redis(master.url);
  await vi.waitFor(async () =>
    expect(await atReplica.info('replication')).toContain('master_link_status:up'),
  );
  await atMaster.wait(1, 1_000);
  await atReplica.config('SET', 'masterauth', 'wrong');
  await atMaster.call('CLIENT', 'KILL', 'TYPE', 'replica');

  const lost = reserved(await receiver.reserve(requestOf(workspaceId, 'lost@x')));
  await expect(
    createReserver(redis, { waitReplicas: 1 }).reserve(requestOf(workspaceId, 'safe@x')),
  ).rejects.toThrow('0 of 1 replicas had it');
  atMaster.disconnect();
  await master.kill();
  await vi.waitFor(async () => expect((await cluster.masterOf(place)).port).toBe(replica?.port), {
    timeout: 20_000,
    interval: 100,
  });

  // The receiver remembers an order that the clock has not reached.
  await vi.waitFor(
    async () =>
      expect((await receiver.reserve(requestOf(workspaceId, 'lost@x'))).kind).toBe('behind'),
    { timeout: 15_000, interval: 100 },
  );
  // And so no other claims either, though it remembers nothing.
  const other = createReserver(redis);
  expect((await other.reserve(requestOf(workspaceId, 'lost@x'))).kind).toBe('behind');
  await vi.waitFor(async () => expect(await requestedWorkspaces(redis)).toEqual([workspaceId]));
  // Its job was applied meanwhile.
  const source = sourceOf(
    [workspaceId],
    [{ key: 'email:lost@x', leadId: lost.leadId }],
    lost.order,
  );
  await refillWorkspace(redis, source, workspaceId);
  const again = reserved(await receiver.reserve(requestOf(workspaceId, 'lost@x')));
  expect(again.leadId).toBe(lost.leadId);
  expect(again.order).toBeGreaterThan(lost.order);

  await atReplica.config('SET', 'masterauth', new URL(master.url).password);
  atReplica.disconnect();
  await master.restart();
  await cluster.settle();
}, 90_000);
