import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startRedisCluster, type OwnCluster } from '@leadgate/testkit';
import { untilKept } from './leads.ts';
import { startLoad, type Load } from './steady-load.ts';
import { startSystem, type Receiver, type System } from './system.ts';

let cluster: OwnCluster;
let spools: string;
let system: System;
/** Without a spool, and with one: what Redis Cluster does by itself, and what senders see at best. */
let plain: Receiver[];
let spooled: Receiver[];
let workspaceId: string;
let code: string;

beforeAll(async () => {
  [cluster, spools] = await Promise.all([
    startRedisCluster(),
    mkdtemp(join(tmpdir(), 'leadgate-test-spool-')),
  ]);
  system = await startSystem({
    redis: cluster,
    receivers: 2,
    workers: 3,
    receiverEnv: { QUEUE_SHARDS: '3', REDIS_WAIT_REPLICAS: '1', RATE_LIMIT_ADDRESS: '1000000' },
    workerEnv: { JOB_LOCK_MS: '2000' },
  });
  plain = [...system.receivers];
  spooled = await Promise.all([
    system.startReceiver({ SPOOL_DIR: spools }),
    system.startReceiver({ SPOOL_DIR: spools }),
  ]);
}, 120_000);
afterAll(async () => {
  await system?.stop();
  await cluster?.stop();
  await rm(spools, { recursive: true });
}, 60_000);

beforeEach(async () => {
  ({ workspaceId, code } = await system.openLink());
  await untilKept(code, spools, 10_000);
}, 60_000);

test('a master is killed under load: its replica takes over, and every 202 is applied, once', async () => {
  const loads = startLoads();
  await loads.flowing();
  const master = await cluster.masterOf(`{${workspaceId}}`);
  await master.kill();
  await expect
    .poll(async () => (await cluster.masterOf(`{${workspaceId}}`)).port, { timeout: 30_000 })
    .not.toBe(master.port);
  // As whatever supervises it would. Until it is there, the other one has no replica, and nothing that
  // only it has may be answered 202.
  await master.restart();
  await loads.flowing();
  const { bare, safe } = await loads.stop();
  await cluster.settle();
  await expectKept(bare, safe);
  tell('a master was killed', bare, safe);
}, 120_000);

test('slots move under load, those of everything that a post needs: every 202 is applied, once', async () => {
  const loads = startLoads();
  await loads.flowing();
  const names = [`{${workspaceId}}`, '{links}', '{leads-0}', '{leads-1}', '{leads-2}'];
  const slots = await Promise.all(
    [...names, 'leadgate:shards'].map((name) => cluster.slotOf(name)),
  );
  let keys = 0;
  for (const slot of slots) {
    const from = await cluster.masterOf(slot);
    const others = await Promise.all([0, 8_000, 16_383].map((other) => cluster.masterOf(other)));
    const to = others.find(({ port }) => port !== from.port);
    if (to === undefined) throw new Error('there is one master only');
    keys += await cluster.moveSlots([slot], to);
  }
  await loads.flowing();
  const { bare, safe } = await loads.stop();
  expect(keys).toBeGreaterThan(0);
  await expectKept(bare, safe);
  tell(`${slots.length} slots with ${keys} keys moved`, bare, safe);
}, 120_000);

test('the number of shards changes under load, to fewer and to more: every 202 is applied, once', async () => {
  const loads = startLoads();
  await loads.flowing();
  for (const shards of ['1', '4'])
    for (const one of [...plain, ...spooled]) {
      loads.leaveOut(one);
      const env = spooled.includes(one) ? { SPOOL_DIR: spools } : {};
      expect(await system.restartReceiver(one, { ...env, QUEUE_SHARDS: shards })).toBe(0);
      loads.leaveOut(null);
    }
  await loads.flowing();
  const { bare, safe } = await loads.stop();
  await expectKept(bare, safe);
}, 180_000);

interface Loads {
  bare: Load;
  safe: Load;
}

function startLoads() {
  let away: Receiver | null = null;
  const urlsOf = (receivers: Receiver[]) => () =>
    receivers.filter((one) => one !== away).map(({ url }) => url);
  const bare = startLoad(urlsOf(plain), { code, perSecond: 20, name: 'bare' });
  const safe = startLoad(urlsOf(spooled), { code, perSecond: 20, name: 'safe' });
  return {
    leaveOut: (receiver: Receiver | null) => void (away = receiver),
    /** Waits until both are answered 202 again, for a second's posts. */
    flowing: async () => {
      for (const { soFar } of [bare, safe]) {
        const before = soFar.accepted.size;
        await expect
          .poll(() => soFar.accepted.size, { timeout: 30_000 })
          .toBeGreaterThan(before + 20);
      }
    },
    stop: async (): Promise<Loads> => ({ bare: await bare.stop(), safe: await safe.stop() }),
  };
}

/**
 * What was answered 202 is stored under the ids that were answered, no post twice; with a spool there
 * was no other answer, and without one, only 503.
 */
async function expectKept(bare: Load, safe: Load): Promise<void> {
  expect(Object.keys(safe.answers), safe.refusals.join('\n')).toEqual(['202']);
  expect(['202', '503'], bare.refusals.join('\n')).toEqual(
    expect.arrayContaining(Object.keys(bare.answers)),
  );
  const accepted = new Map([...bare.accepted, ...safe.accepted]);
  const rows = () =>
    system.query<{ id: string; lead_id: string; email: string }>(
      `SELECT id, lead_id, lead->>'email' AS email FROM submission WHERE workspace_id = $1`,
      [workspaceId],
    );
  await expect
    .poll(
      async () => {
        const stored = new Set((await rows()).map(({ id }) => id));
        return [...accepted.keys()].filter((id) => !stored.has(id)).length;
      },
      { timeout: 60_000, interval: 200 },
    )
    .toBe(0);
  await system.settle(60_000);
  const stored = await rows();
  for (const { id, lead_id } of stored)
    if (accepted.has(id)) expect(lead_id).toBe(accepted.get(id));
  expect(new Set(stored.map(({ email }) => email)).size).toBe(stored.length);
}

function tell(what: string, bare: Load, safe: Load): void {
  const one = ({ answers, longestGapMs }: Load) =>
    `${JSON.stringify(answers)}, longest gap ${(longestGapMs / 1_000).toFixed(1)} s`;
  console.error(`${what}. Without a spool: ${one(bare)}. With one: ${one(safe)}.`);
}
