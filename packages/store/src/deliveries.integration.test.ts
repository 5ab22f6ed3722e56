import { Keyring } from '@leadgate/boot';
import { LEAD_EVENTS, type Lead, type Submission } from '@leadgate/contract';
import { bareSubmission, testDatabase } from '@leadgate/testkit';
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { applyGroup } from './apply/apply-group.ts';
import { mergeLeads, splitLead } from './apply/merges.ts';
import { leadEvents } from './lead-details.ts';
import {
  dueDeliveries,
  resendSteps,
  keepLanes,
  listenForDeliveries,
  readLanes,
  recordTest,
  recordTries,
  releaseLane,
  type SentDelivery,
  sweepDeliveries,
  takeLanes,
} from './deliveries.ts';
import {
  askEndpointTest,
  createEndpoint,
  deliveryFigures,
  type Endpoint,
  endpointBacklog,
  type EndpointSettings,
  findEndpoint,
  listDeliveries,
  listEndpoints,
  listTries,
  removeEndpoint,
  rotateEndpointSecret,
  setEndpointState,
  updateEndpoint,
} from './endpoints.ts';
import { settleAlarms } from './alarms.ts';
import { linkSums } from './ledger.ts';
import { openStore, type Store } from './open-store.ts';
import { addUpTallies, readSeries } from './series.ts';

const keyring = new Keyring('a key of thirty-two characters or more');
const LEASE = { leaseMs: 60_000, limit: 100 };
const WELL = { failures: 0, quietMs: null, disabled: null };

let database: Awaited<ReturnType<typeof testDatabase>>;
let store: Store;
let workspaceId: string;
beforeAll(async () => {
  database = await testDatabase();
  store = openStore({ url: database.url, poolSize: 4 });
});
afterAll(async () => {
  await store.close();
  await database.drop();
});
beforeEach(async () => {
  await store.prisma.endpoint.deleteMany();
  await store.prisma.delivery.deleteMany();
  workspaceId = randomUUID();
  await store.prisma.workspace.create({ data: { id: workspaceId, name: workspaceId } });
});

const settings = (given: Partial<EndpointSettings> = {}): EndpointSettings => ({
  name: randomUUID().slice(0, 8),
  url: 'https://crm.example/hook',
  ...{ mapping: null, headers: {} },
  events: [...LEAD_EVENTS],
  linkIds: [],
  perSecond: null,
  concurrency: 2,
  ...given,
});

async function endpoint(given: Partial<EndpointSettings> = {}): Promise<Endpoint> {
  const made = await createEndpoint(store, workspaceId, settings(given), {
    secret: 'whsec_b2xk',
    keyring,
  });
  if (made.kind !== 'done') throw new Error(made.kind);
  return made.endpoint;
}

async function link(): Promise<string> {
  const id = randomUUID();
  await store.prisma.captureLink.create({ data: { id, workspaceId } });
  return id;
}

async function post(leadId: string, lead: Lead, linkId: string = randomUUID()): Promise<void> {
  const submission = bareSubmission({ workspaceId, leadId, lead, linkId });
  await applyGroup(store, [{ submission, replay: false }]);
}

async function due(endpointId: string, owner: string) {
  await takeLanes(store, owner, LEASE);
  return dueDeliveries(store, { owner, endpointId }, { limit: 100, except: [], freshFirst: false });
}

function tried(
  { leadId, event, resends, version }: Awaited<ReturnType<typeof due>>[number],
  given: Partial<SentDelivery> = {},
): SentDelivery {
  return {
    ...{ leadId, event, resends, version, messageId: 'msg_1', detail: '' },
    ...{ outcome: 'delivered', status: 200, durationMs: 5, retryMs: 60_000 },
    ...{ confirmMs: null, remoteId: null },
    ...given,
  };
}

const rowOf = (endpointId: string, leadId: string) =>
  store.prisma.delivery.findUniqueOrThrow({ where: { endpointId_leadId: { endpointId, leadId } } });

test('many changes of a lead wait as one delivery, with the lead as it stands when it is read', async () => {
  const { id } = await endpoint();
  const [leadId, owner] = [randomUUID(), randomUUID()];
  await post(leadId, { email: 'ana@example.com' });
  await post(leadId, { email: 'ana@example.com', name: 'Ana' });
  await post(leadId, { email: 'ana@example.com', name: 'Ana Maria', utmSource: 'x' });
  expect(await due(id, owner)).toMatchObject([
    { leadId, event: 'lead.created', lead: { version: 3, name: 'Ana Maria', utmSource: 'x' } },
  ]);
});

test('a lead that changes while it is sent waits on, and is sent as an update', async () => {
  const { id } = await endpoint();
  const [leadId, owner] = [randomUUID(), randomUUID()];
  await post(leadId, { name: 'a' });
  const [sent] = await due(id, owner);
  await post(leadId, { name: 'b' });
  await recordTries(store, { owner, endpointId: id }, [tried(sent ?? expect.fail())], WELL, 1_000);
  expect(await due(id, owner)).toMatchObject([
    { event: 'lead.updated', lead: { version: 2, name: 'b' } },
  ]);
  expect(await rowOf(id, leadId)).toMatchObject({ deliveredVersion: 1, version: 2 });
});

test('failures are over once a message is taken, also of a lead that changes while it is sent', async () => {
  const { id } = await endpoint();
  const [leadId, owner] = [randomUUID(), randomUUID()];
  await post(leadId, { name: 'a' });
  const [sent] = await due(id, owner);
  const failed = tried(sent ?? expect.fail(), { outcome: 'timeout', status: null, retryMs: 0 });
  await recordTries(store, { owner, endpointId: id }, [failed], { ...WELL, failures: 1 }, 1_000);
  expect(await rowOf(id, leadId)).toMatchObject({ attempts: 1 });
  const [again] = await due(id, owner);
  await post(leadId, { name: 'b' });
  await recordTries(store, { owner, endpointId: id }, [tried(again ?? expect.fail())], WELL, 1_000);
  expect(await rowOf(id, leadId)).toMatchObject({ attempts: 0, deliveredVersion: 1, version: 2 });
});

test('the same facts again are no change, and nothing waits', async () => {
  const { id } = await endpoint();
  const [leadId, owner] = [randomUUID(), randomUUID()];
  await post(leadId, { name: 'a' });
  const [sent] = await due(id, owner);
  await recordTries(store, { owner, endpointId: id }, [tried(sent ?? expect.fail())], WELL, 1_000);
  await post(leadId, { name: 'a' });
  expect(await due(id, owner)).toEqual([]);
});

test('an endpoint of some links knows a lead from a change by one of them on, and then hears of all', async () => {
  const [own, other] = [await link(), await link()];
  const { id } = await endpoint({ linkIds: [own] });
  const [leadId, owner] = [randomUUID(), randomUUID()];
  await post(leadId, { name: 'a' }, other);
  expect(await due(id, owner)).toEqual([]);
  await post(leadId, { name: 'b' }, own);
  const [sent] = await due(id, owner);
  expect(sent).toMatchObject({ lead: { name: 'b' } });
  await recordTries(store, { owner, endpointId: id }, [tried(sent ?? expect.fail())], WELL, 1_000);
  await post(leadId, { name: 'c' }, other);
  expect(await due(id, owner)).toMatchObject([{ event: 'lead.updated', lead: { name: 'c' } }]);
});

test('an endpoint is told of the events that it asks for', async () => {
  const { id } = await endpoint({ events: ['lead.created'] });
  const [leadId, owner] = [randomUUID(), randomUUID()];
  await post(leadId, { name: 'a' });
  const [sent] = await due(id, owner);
  await recordTries(store, { owner, endpointId: id }, [tried(sent ?? expect.fail())], WELL, 1_000);
  await post(leadId, { name: 'b' });
  expect(await due(id, owner)).toEqual([]);
});

test('a withdrawal is told, as consent stands then, with no words of it', async () => {
  const { id } = await endpoint();
  const [leadId, owner] = [randomUUID(), randomUUID()];
  const consent = async (given: Partial<Submission>) => {
    const submission = bareSubmission({ workspaceId, leadId, lead: { name: 'a' }, ...given });
    const item = { submission, replay: false };
    await applyGroup(store, [item]);
    await applyGroup(store, [item]);
    await applyGroup(store, [{ ...item, replay: true }]);
    const [told = expect.fail(), ...others] = await due(id, owner);
    expect(others).toEqual([]);
    await recordTries(store, { owner, endpointId: id }, [tried(told)], WELL, 1_000);
    expect(await due(id, owner)).toEqual([]);
    return told;
  };
  const asked = await consent({});
  expect(asked).toMatchObject({ event: 'lead.created', version: 1, lead: { consent: null } });
  const granted = await consent({ consent: { given: true, text: 'Aceito.', textVersion: '3' } });
  expect(granted).toMatchObject({ event: 'lead.updated', version: 2 });
  expect(granted.lead?.consent).toEqual({
    ...{ state: 'granted', textVersion: '3', at: expect.any(String) as string },
  });
  const withdrawn = await consent({ source: 'withdrawal', lead: {}, consent: { given: false } });
  expect(withdrawn).toMatchObject({
    ...{ event: 'lead.updated', version: 3 },
    lead: { name: 'a', consent: { state: 'withdrawn' } },
  });
  // A box that is left empty afterwards gives nothing and takes nothing back.
  const empty = await consent({ consent: { given: false } });
  expect(empty).toMatchObject({ version: 4, lead: { consent: withdrawn.lead?.consent } });
});

test('what an endpoint took is counted by the link of the change, each version once, and an alarm is no lead', async () => {
  const [one, other] = [await link(), await link()];
  const { id } = await endpoint({ events: [...LEAD_EVENTS, 'alarm.opened'] });
  const second = await endpoint();
  const [leadId, owner] = [randomUUID(), randomUUID()];
  const send = async (endpointId: string, given: Partial<SentDelivery> = {}) => {
    const found = await due(endpointId, owner);
    const tries = found.map((delivery) => tried(delivery, given));
    await recordTries(store, { owner, endpointId }, tries, WELL, 1_000);
    return found;
  };
  await store.prisma.tally.deleteMany();
  await addUpTallies(store);
  const delivered = async () => {
    await addUpTallies(store);
    const since = new Date();
    const sums = await linkSums(store, { workspaceId, since });
    return [one, other].map((linkId) => sums.find((sum) => sum.linkId === linkId)?.delivered ?? 0);
  };
  await post(leadId, { name: 'a' }, one);
  await send(id, { outcome: 'timeout', status: null, retryMs: 0 });
  expect(await delivered()).toEqual([0, 0]);
  await send(id);
  await send(second.id);
  expect(await delivered()).toEqual([2, 0]);
  await post(leadId, { name: 'b' }, other);
  await send(id, { outcome: 'skipped', status: null });
  await send(second.id);
  expect(await delivered()).toEqual([2, 1]);
  // Sent again it is no other version.
  for await (const step of resendSteps(store, second.id, { leadId })) expect(step.count).toBe(1);
  expect(await send(second.id)).toHaveLength(1);
  const subject = randomUUID();
  const facts = { hours: 40 };
  await settleAlarms(store, ['ledger'], [{ kind: 'ledger', subject, workspaceId, facts }]);
  expect(await send(id)).toMatchObject([{ event: 'alarm.opened', lead: null }]);
  expect(await delivered()).toEqual([2, 1]);
  const [row] = await readSeries(store, {
    ...{ subject: workspaceId, grain: 'hour' },
    ...{
      from: new Date(Date.now() - 7_200_000).toISOString(),
      to: new Date(Date.now() + 1_000).toISOString(),
    },
  });
  expect(row).toMatchObject({ delivered: 3 });

  const listed = await listDeliveries(store, id, { limit: 10 });
  const [alarm = expect.fail()] = listed.filter((delivery) => delivery.leadId === null);
  expect(listed.find((delivery) => delivery.alarmId === null)).toMatchObject({ leadId });
  expect(alarm).toMatchObject({ event: 'alarm.opened', alarmId: expect.any(String) as string });
  const of = { leadId: alarm.alarmId ?? '', limit: 10 };
  expect(await listDeliveries(store, id, of)).toEqual([alarm]);
  expect(await listTries(store, id, of)).toMatchObject([{ leadId: null, alarmId: alarm.alarmId }]);
});

test('a merge names the lead that ended, and what waited of it is told of the other', async () => {
  const { id } = await endpoint();
  const [keep, other, owner] = [randomUUID(), randomUUID(), randomUUID()];
  await post(keep, { name: 'a' });
  await post(other, { email: 'b@example.com' });
  await mergeLeads(store, workspaceId, keep, other);
  expect(await due(id, owner)).toMatchObject([
    {
      leadId: keep,
      lead: {
        ...{ version: 2, name: 'a', email: 'b@example.com' },
        mergedLeads: [{ leadId: other, version: 2 }],
      },
    },
  ]);
  // By either id: what is still to be told, then that it was, also when no try is kept any more.
  expect(await leadEvents(store, other, 10)).toMatchObject({
    ...{ sent: [], merges: [{ leadId: other }] },
    waiting: [{ endpointId: id, attempts: 0 }],
  });
  const [sent] = await due(id, owner);
  await recordTries(store, { owner, endpointId: id }, [tried(sent ?? expect.fail())], WELL, 1_000);
  const toldOf = async () => (await leadEvents(store, keep, 10))?.sent;
  const told = { endpointId: id, outcome: 'delivered' };
  expect(await toldOf()).toMatchObject([{ ...told, status: 200 }]);
  await store.prisma.deliveryAttempt.deleteMany({ where: { endpointId: id } });
  expect(await toldOf()).toMatchObject([{ ...told, status: null }]);
});

test('a lead taken apart is told as what is left of it and as another, to whom knew it', async () => {
  const own = await link();
  const { id } = await endpoint({ linkIds: [own] });
  const [ana, owner] = [randomUUID(), randomUUID()];
  await post(ana, { email: 'ana@example.com', telephone: '5511999999999', name: 'Ana' }, own);
  await post(ana, { email: 'bia@example.com', telephone: '5511999999999', name: 'Bia' });
  const [sent] = await due(id, owner);
  await recordTries(store, { owner, endpointId: id }, [tried(sent ?? expect.fail())], WELL, 1_000);
  await splitLead(store, workspaceId, ana, []);
  const told = await due(id, owner);
  expect(told.map(({ event, lead }) => [event, lead?.name]).toSorted()).toEqual([
    ['lead.created', 'Bia'],
    ['lead.updated', 'Ana'],
  ]);
});

test('a lead that was merged and taken apart again has a higher version than its end', async () => {
  const { id } = await endpoint();
  const [ana, bia, owner] = [randomUUID(), randomUUID(), randomUUID()];
  await post(ana, { email: 'ana@example.com' });
  await post(bia, { email: 'bia@example.com' });
  await mergeLeads(store, workspaceId, ana, bia);
  const [merged] = await due(id, owner);
  expect(merged?.lead?.mergedLeads).toEqual([{ leadId: bia, version: 2 }]);
  await splitLead(store, workspaceId, ana, []);
  const told = await due(id, owner);
  expect(told.find(({ leadId }) => leadId === bia)).toMatchObject({
    lead: { version: 3, email: 'bia@example.com', mergedLeads: [] },
  });
  expect(told.find(({ leadId }) => leadId === ana)).toMatchObject({
    lead: { version: 3, email: 'ana@example.com', mergedLeads: [] },
  });
});

test('deliverers that ask at once never take the same lane, and one that went away is followed', async () => {
  const endpoints = await Promise.all(Array.from({ length: 6 }, () => endpoint()));
  await post(randomUUID(), { name: 'a' });
  const owners = [randomUUID(), randomUUID(), randomUUID()];
  const taken = await Promise.all(
    owners.map((owner) => takeLanes(store, owner, { leaseMs: 60_000, limit: 6 })),
  );
  expect(taken.flat().toSorted()).toEqual(endpoints.map(({ id }) => id).toSorted());

  const [first = '', second = ''] = owners;
  const own = taken[0] ?? [];
  await keepLanes(store, first, own, 0);
  const followed = await takeLanes(store, second, LEASE);
  expect(followed.toSorted()).toEqual(own.toSorted());
  expect(await keepLanes(store, first, own, 60_000)).toEqual([]);
  for (const endpointId of own) {
    const lane = { owner: first, endpointId };
    const options = { limit: 10, except: [], freshFirst: false };
    expect(await dueDeliveries(store, lane, options)).toEqual([]);
  }
});

test('a lane that was given back is taken again after its time, and not before', async () => {
  const { id } = await endpoint();
  await post(randomUUID(), { name: 'a' });
  const [first, second] = [randomUUID(), randomUUID()];
  await takeLanes(store, first, LEASE);
  await releaseLane(store, first, id, { afterMs: 60_000, isCut: false });
  expect(await takeLanes(store, second, LEASE)).toEqual([]);
  await takeLanes(store, first, LEASE);
  await store.prisma.endpoint.updateMany({ data: { laneUntil: new Date(0) } });
  expect(await takeLanes(store, second, LEASE)).toEqual([id]);
});

test('a deliverer that lost its lane writes what happened, and leaves what is next to the one who has it', async () => {
  const { id } = await endpoint();
  const [leadId, unsent] = [randomUUID(), randomUUID()];
  const late = { owner: randomUUID(), endpointId: id };
  const ofNext = { owner: randomUUID(), endpointId: id };
  const confirmed = { confirmMs: 60_000 };
  await post(leadId, { name: 'old' });
  await post(unsent, { name: 'waits' });
  const [first = expect.fail(), second = expect.fail()] = (await due(id, late.owner)).toSorted(
    (a) => (a.leadId === leadId ? -1 : 1),
  );
  // It stands still, and its lease ends.
  await store.prisma.endpoint.updateMany({ data: { laneUntil: new Date(0) } });
  await post(first.leadId, { name: 'new' });
  const again = (await due(id, ofNext.owner)).find((one) => one.leadId === leadId);
  await recordTries(store, ofNext, [tried(again ?? expect.fail(), confirmed)], WELL, 1_000);
  await store.prisma.delivery.updateMany({ where: { leadId }, data: { dueAt: null } });
  const endpointBefore = await store.prisma.endpoint.findUniqueOrThrow({ where: { id } });
  const before = await rowOf(id, first.leadId);
  expect(before).toMatchObject({ deliveredVersion: 2, attempts: 0, dueAt: null });
  const waiting = await rowOf(id, second.leadId);

  const bad = { failures: 9, quietMs: 60_000, disabled: 'It answered 410: it is gone.' };
  const failed = { outcome: 'timeout', status: null } as const;
  await recordTries(store, late, [tried(first, failed), tried(second, failed)], bad, 0);
  expect(await rowOf(id, first.leadId)).toEqual(before);
  expect(await rowOf(id, second.leadId)).toEqual(waiting);
  await recordTries(store, late, [tried(second)], WELL, 1_000);
  expect(await rowOf(id, second.leadId)).toMatchObject({
    ...{ deliveredVersion: 1, dueAt: waiting.dueAt, event: 'lead.updated' },
  });
  // A destination without versions may have the old one now: it is sent the new one again.
  await recordTries(store, late, [tried(first, { ...confirmed, remoteId: '17' })], bad, 0);
  const { dueAt, ...row } = await rowOf(id, first.leadId);
  expect(row).toMatchObject({ deliveredVersion: 2, attempts: 0, remoteIds: ['17'] });
  expect(dueAt?.getTime()).toBeGreaterThan(Date.now() + 30_000);
  expect(await store.prisma.endpoint.findUniqueOrThrow({ where: { id } })).toEqual(endpointBefore);
  expect(await listTries(store, id, { limit: 10 })).toHaveLength(5);
});

test('a lane that is lost while the outcome waits for a group commit is lost', async () => {
  const { id } = await endpoint();
  const [leadId, owner, next] = [randomUUID(), randomUUID(), randomUUID()];
  await post(leadId, { name: 'a' });
  const [sent = expect.fail()] = await due(id, owner);
  const commit = new pg.Client({ connectionString: database.url });
  await commit.connect();
  await commit.query('BEGIN');
  await commit.query('SELECT FROM delivery WHERE lead_id = $1 FOR UPDATE', [leadId]);
  const writing = recordTries(store, { owner, endpointId: id }, [tried(sent)], WELL, 1_000);
  const waits = `SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`;
  await vi.waitFor(async () => expect((await commit.query(waits)).rowCount).toBe(1), 5_000);
  await store.prisma.endpoint.updateMany({ data: { laneUntil: new Date(0) } });
  expect(await takeLanes(store, next, LEASE)).toEqual([id]);
  await commit.query('COMMIT');
  await commit.end();
  await writing;
  const { deliveredVersion, dueAt } = await rowOf(id, leadId);
  expect([deliveredVersion, dueAt]).toEqual([1, expect.any(Date)]);
});

test('what was due when a deliverer died, or was cut off, is confirmed once after it was delivered; the rest is not', async () => {
  const { id } = await endpoint();
  const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
  const leadId = randomUUID();
  const deliver = async (owner: string) => {
    const [one] = await due(id, owner);
    await recordTries(
      store,
      { owner, endpointId: id },
      [tried(one ?? expect.fail(), { confirmMs: 60_000 })],
      WELL,
      1_000,
    );
    const { dueAt } = await rowOf(id, leadId);
    await store.prisma.delivery.updateMany({
      where: { dueAt: { not: null } },
      data: { dueAt: new Date() },
    });
    return dueAt !== null;
  };
  const given = (owner: string, isCut: boolean) =>
    releaseLane(store, owner, id, { afterMs: 0, isCut });
  await post(leadId, { name: 'a' });
  expect(await deliver(first)).toBe(false);
  await post(leadId, { name: 'b' });
  await store.prisma.endpoint.updateMany({ data: { laneUntil: new Date(0) } });
  expect([await deliver(second), await deliver(second)]).toEqual([true, false]);
  await given(second, false);
  await post(leadId, { name: 'c' });
  expect(await deliver(third)).toBe(false);
  await post(leadId, { name: 'd' });
  await given(third, true);
  // Asked for again meanwhile, it is confirmed all the same.
  for await (const _ of resendSteps(store, id, { leadId }));
  expect([await deliver(first), await deliver(first)]).toEqual([true, false]);
});

test.each([
  ['its deliverer died', { outcome: null }],
  ['it had no answer', { outcome: 'timeout' }],
] as const)(
  'what changes while it is sent again, as %s, is confirmed as what it is then',
  async (_why, { outcome }) => {
    const { id } = await endpoint();
    const [leadId, owner, next] = [randomUUID(), randomUUID(), randomUUID()];
    const send = async (by: string, meanwhile = async () => {}) => {
      const [one] = await due(id, by);
      await meanwhile();
      await recordTries(
        store,
        { owner: by, endpointId: id },
        [tried(one ?? expect.fail(), { confirmMs: 60_000 })],
        WELL,
        1,
      );
      return (await rowOf(id, leadId)).dueAt ?? expect.fail();
    };
    await post(leadId, { name: 'a' });
    const [lost] = await due(id, owner);
    if (outcome !== null) {
      const failed = tried(lost ?? expect.fail(), { outcome, status: null, retryMs: 0 });
      await recordTries(
        store,
        { owner, endpointId: id },
        [failed],
        { ...WELL, failures: 1 },
        1_000,
      );
    }
    await store.prisma.endpoint.updateMany({
      data: { ...(outcome === null && { laneUntil: new Date(0) }), quietUntil: null },
    });
    const again = outcome === null ? next : owner;
    const changed = await send(again, () => post(leadId, { name: 'b' }));
    expect(changed.getTime()).toBeLessThanOrEqual(Date.now());
    expect((await send(again)).getTime()).toBeGreaterThan(Date.now() + 30_000);
  },
);

test('what was asked for again before it was confirmed is confirmed all the same', async () => {
  const { id } = await endpoint();
  const [leadId, owner] = [randomUUID(), randomUUID()];
  const send = async (given: Partial<SentDelivery> = {}) => {
    const [one] = await due(id, owner);
    const sent = tried(one ?? expect.fail(), { confirmMs: 60_000, ...given });
    await recordTries(store, { owner, endpointId: id }, [sent], WELL, 1_000);
    return (await rowOf(id, leadId)).dueAt?.getTime() ?? 0;
  };
  const inAMinute = expect.closeTo(Date.now() + 60_000, -5) as number;
  await post(leadId, { name: 'a' });
  await send({ outcome: 'timeout', status: null, retryMs: 0 });
  expect(await send()).toEqual(inAMinute);
  expect(await resend(id, { leadId })).toBe(1);
  expect(await send()).toEqual(inAMinute);
  await store.prisma.delivery.updateMany({ where: { leadId }, data: { dueAt: new Date() } });
  expect(await send()).toBe(0);
  expect(await resend(id, { leadId })).toBe(1);
  expect(await send()).toBe(0);
});

test('what failed waits; what failed for days at an endpoint that takes others is set aside, and a change brings it back', async () => {
  const { id } = await endpoint();
  const [leadId, other, owner] = [randomUUID(), randomUUID(), randomUUID()];
  await post(leadId, { name: 'a' });
  const [sent] = await due(id, owner);
  const failed = tried(sent ?? expect.fail(), { outcome: 'answered', status: 422 });
  await recordTries(store, { owner, endpointId: id }, [failed], { ...WELL, failures: 1 }, 1_000);
  expect(await due(id, owner)).toEqual([]);
  expect(await rowOf(id, leadId)).toMatchObject({ attempts: 1, failedAt: null });

  await store.prisma.delivery.updateMany({ data: { failingSince: new Date(0) } });
  // While the endpoint takes nothing, everything waits for it.
  await recordTries(store, { owner, endpointId: id }, [failed], { ...WELL, failures: 2 }, 1_000);
  expect((await rowOf(id, leadId)).dueAt).not.toBeNull();
  await post(other, { name: 'b' });
  const [next] = await due(id, owner);
  await recordTries(store, { owner, endpointId: id }, [tried(next ?? expect.fail())], WELL, 1_000);
  await recordTries(store, { owner, endpointId: id }, [failed], { ...WELL, failures: 1 }, 1_000);
  expect(await rowOf(id, leadId)).toMatchObject({ dueAt: null });
  expect((await rowOf(id, leadId)).failedAt).not.toBeNull();
  expect(await deliveryFigures(store)).toMatchObject({ setAside: 1, waiting: 0, active: 1 });

  await post(leadId, { name: 'c' });
  expect(await due(id, owner)).toMatchObject([{ leadId, lead: { name: 'c' } }]);
});

test('an erasure that is refused for days is tried on', async () => {
  const { id } = await endpoint();
  const [leadId, owner] = [randomUUID(), randomUUID()];
  const lane = { owner, endpointId: id };
  await post(leadId, { name: 'a' });
  const [sent = expect.fail()] = await due(id, owner);
  await recordTries(store, lane, [tried(sent)], WELL, 1_000);
  const failing = { event: 'lead.erased', dueAt: new Date(), failingSince: new Date(0) };
  await store.prisma.delivery.updateMany({ where: { leadId }, data: failing });
  const [erasure = expect.fail()] = await due(id, owner);
  const failed = tried(erasure, { outcome: 'answered', status: 500 });
  await recordTries(store, lane, [failed], { ...WELL, failures: 1 }, 1_000);
  expect(await rowOf(id, leadId)).toMatchObject({
    failedAt: null,
    dueAt: expect.any(Date) as Date,
  });
});

test('a disabled endpoint keeps what waits, and is sent it when it is resumed', async () => {
  const { id } = await endpoint();
  const [leadId, owner] = [randomUUID(), randomUUID()];
  await post(leadId, { name: 'a' });
  const [sent] = await due(id, owner);
  const gone = tried(sent ?? expect.fail(), { outcome: 'answered', status: 410, retryMs: 0 });
  await recordTries(
    store,
    { owner, endpointId: id },
    [gone],
    { failures: 1, quietMs: null, disabled: 'gone' },
    1_000,
  );
  expect(await findEndpoint(store, id)).toMatchObject({ state: 'disabled', reason: 'gone' });
  await post(leadId, { name: 'b' });
  expect(await due(id, owner)).toEqual([]);
  expect(await setEndpointState(store, id, 'active')).toMatchObject({
    ...{ state: 'active', reason: null, failingSince: null },
  });
  expect(await due(id, owner)).toMatchObject([{ lead: { name: 'b' } }]);
});

test('a paused endpoint is sent nothing but a test, and the test is in the log', async () => {
  const { id } = await endpoint();
  await setEndpointState(store, id, 'paused');
  await post(randomUUID(), { name: 'a' });
  const [owner, testId] = [randomUUID(), randomUUID()];
  expect(await takeLanes(store, owner, LEASE)).toEqual([]);
  expect(await askEndpointTest(store, id, testId)).toBe(true);
  expect(await takeLanes(store, owner, LEASE)).toEqual([id]);
  expect(await readLanes(store, owner)).toMatchObject([{ active: false, testId }]);
  await recordTest(store, id, testId, {
    ...{ leadId: null, version: null, event: 'endpoint.test', messageId: `msg_${testId}` },
    ...{ outcome: 'answered', status: 404, detail: 'no', durationMs: 3 },
  });
  expect(await readLanes(store, owner)).toMatchObject([{ testId: null }]);
  expect(await store.prisma.deliveryAttempt.findMany({ where: { endpointId: id } })).toMatchObject([
    { event: 'endpoint.test', status: 404, detail: 'no' },
  ]);
});

test('secrets and headers are encrypted where they lie, and both secrets sign during a rotation', async () => {
  const { id, headers } = await endpoint({ headers: { authorization: 'Bearer hunter2' } });
  expect(headers).toEqual(['authorization']);
  await rotateEndpointSecret(store, id, { secret: 'whsec_bmV3', keyring, overlapSeconds: 60 });
  const row = await store.prisma.endpoint.findUniqueOrThrow({ where: { id } });
  const lying = Buffer.concat(
    [row.secret, row.oldSecret ?? [], row.headers ?? []].map(Buffer.from),
  );
  for (const secret of ['whsec', 'bmV3', 'hunter2']) expect(lying.includes(secret)).toBe(false);

  await post(randomUUID(), { name: 'a' });
  const owner = randomUUID();
  await takeLanes(store, owner, LEASE);
  const [lane] = await readLanes(store, owner);
  expect(lane?.secrets.map((secret) => keyring.open(secret).toString())).toEqual([
    'whsec_bmV3',
    'whsec_b2xk',
  ]);
  expect(JSON.parse(keyring.open(lane?.headers ?? expect.fail()).toString())).toEqual({
    authorization: 'Bearer hunter2',
  });
  expect(() => new Keyring('another key').open(row.secret)).toThrow();

  await rotateEndpointSecret(store, id, { secret: 'whsec_bmV4', keyring, overlapSeconds: 0 });
  expect((await readLanes(store, owner))[0]?.secrets).toHaveLength(1);
});

test('what failed and waits for its next try is due when the endpoint is resumed', async () => {
  const { id } = await endpoint();
  const [leadId, owner] = [randomUUID(), randomUUID()];
  await post(leadId, { name: 'a' });
  const [sent] = await due(id, owner);
  const failed = tried(sent ?? expect.fail(), { outcome: 'timeout', retryMs: 3_600_000 });
  await recordTries(store, { owner, endpointId: id }, [failed], { ...WELL, failures: 1 }, 1_000);
  expect(await due(id, owner)).toEqual([]);
  await setEndpointState(store, id, 'paused');
  await setEndpointState(store, id, 'active');
  expect(await due(id, owner)).toMatchObject([{ leadId }]);
});

test('what failed while an endpoint took nothing for days is not set aside by one more failure once it is resumed', async () => {
  const { id } = await endpoint();
  const owner = randomUUID();
  const lane = { owner, endpointId: id };
  await post(randomUUID(), { name: 'a' });
  await post(randomUUID(), { name: 'b' });
  const [one = expect.fail(), two = expect.fail()] = await due(id, owner);
  const failed = (sent: typeof one) => tried(sent, { outcome: 'timeout', retryMs: 0 });
  await recordTries(store, lane, [failed(one), failed(two)], { ...WELL, failures: 1 }, 60_000);
  await store.prisma.delivery.updateMany({ data: { failingSince: new Date(0) } });
  await setEndpointState(store, id, 'paused');
  await setEndpointState(store, id, 'active');
  await recordTries(store, lane, [tried(one)], WELL, 60_000);
  await recordTries(store, lane, [failed(two)], { ...WELL, failures: 1 }, 60_000);
  expect(await rowOf(id, two.leadId)).toMatchObject({ attempts: 2, failedAt: null });
});

test('names are unique in a workspace, and links of another are refused', async () => {
  const { id, name } = await endpoint();
  const secret = { secret: 'whsec_b2xk', keyring };
  expect(await createEndpoint(store, workspaceId, settings({ name }), secret)).toEqual({
    ...{ kind: 'name-taken', name },
  });
  const strange = settings({ linkIds: [randomUUID()] });
  expect(await createEndpoint(store, workspaceId, strange, secret)).toMatchObject({
    kind: 'invalid',
    errors: [{ pointer: '/linkIds/0', code: 'unknown-link' }],
  });
  expect(await createEndpoint(store, randomUUID(), settings(), secret)).toEqual({
    kind: 'unknown',
  });
  expect(await updateEndpoint(store, id, { perSecond: 2 }, null)).toMatchObject({
    endpoint: { perSecond: 2, name, concurrency: 2 },
  });
  expect(await listEndpoints(store, workspaceId)).toHaveLength(1);
});

test('a removed endpoint leaves nothing that waits, and old tries are swept', async () => {
  const { id } = await endpoint();
  const [leadId, owner] = [randomUUID(), randomUUID()];
  await post(leadId, { name: 'a' });
  const [sent] = await due(id, owner);
  await recordTries(store, { owner, endpointId: id }, [tried(sent ?? expect.fail())], WELL, 1_000);
  await post(leadId, { name: 'b' });
  expect(await removeEndpoint(store, id)).toBe(true);
  expect(await removeEndpoint(store, id)).toBe(false);
  const where = { endpointId: id };
  expect(await store.prisma.delivery.count({ where })).toBe(0);

  // One that a group commit wrote meanwhile.
  await store.prisma.delivery.create({
    data: { ...where, leadId, workspaceId, event: 'lead.updated', version: 1, dueAt: new Date() },
  });
  await store.prisma.deliveryAttempt.updateMany({ where, data: { at: new Date(0) } });
  await sweepDeliveries(store);
  expect(await store.prisma.delivery.count({ where })).toBe(0);
  expect(await store.prisma.deliveryAttempt.count({ where })).toBe(0);
});

test('what is committed wakes who listens, also after the connection broke', async () => {
  const { id } = await endpoint();
  const woken = vi.fn();
  const listener = listenForDeliveries(database.url, woken);
  await vi.waitFor(() => expect(woken).toHaveBeenCalledTimes(1));
  await post(randomUUID(), { name: 'a' });
  await vi.waitFor(() => expect(woken).toHaveBeenCalledTimes(2));

  const admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
  await admin.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND query LIKE 'LISTEN%'`);
  await admin.end();
  await vi.waitFor(() => expect(woken).toHaveBeenCalledTimes(3), 5_000);
  await setEndpointState(store, id, 'paused');
  await setEndpointState(store, id, 'active');
  await vi.waitFor(() => expect(woken).toHaveBeenCalledTimes(4));
  await listener.close();
});

async function resend(id: string, filter: Parameters<typeof resendSteps>[2]): Promise<number> {
  let resent = 0;
  for await (const { count } of resendSteps(store, id, filter)) resent += count;
  return resent;
}

test('what an endpoint was told of is told again, by lead, by time, and what was set aside', async () => {
  const { id } = await endpoint();
  const other = await endpoint();
  const owner = randomUUID();
  const [a, b] = [randomUUID(), randomUUID()];
  await post(a, { name: 'a' });
  await post(b, { name: 'b' });
  const sendAll = async () => {
    const waiting = await due(id, owner);
    await recordTries(
      store,
      { owner, endpointId: id },
      waiting.map((one) => tried(one)),
      WELL,
      1_000,
    );
    return waiting.map(({ leadId, resends }) => [leadId, resends]);
  };
  await sendAll();
  expect(await endpointBacklog(store, id)).toMatchObject({ waiting: 0, setAside: 0 });
  expect(await resend(id, { leadId: a })).toBe(1);
  expect(await sendAll()).toEqual([[a, 1]]);
  expect(await resend(id, { since: new Date(Date.now() + 60_000) })).toBe(0);
  expect(await resend(id, { until: new Date(0) })).toBe(0);
  expect(await resend(id, { setAside: true })).toBe(0);
  await store.prisma.delivery.updateMany({
    where: { endpointId: id, leadId: b },
    data: { failedAt: new Date(), dueAt: null },
  });
  expect(await endpointBacklog(store, id)).toMatchObject({ waiting: 0, setAside: 1 });
  const listed = async (filter: Partial<Parameters<typeof listDeliveries>[2]>) =>
    (await listDeliveries(store, id, { limit: 10, ...filter })).map((one) => [
      one.leadId,
      one.state,
    ]);
  expect(await listed({ state: 'set-aside' })).toEqual([[b, 'set-aside']]);
  expect(await listed({ state: 'delivered' })).toEqual([[a, 'delivered']]);
  expect(await listed({ state: 'waiting' })).toEqual([]);
  const [first = '', second] = [a, b].toSorted();
  expect((await listed({ limit: 1 })).flat()).toContain(first);
  expect((await listed({ after: first })).flat()).toContain(second);
  expect(await resend(id, { setAside: true })).toBe(1);
  expect(await sendAll()).toEqual([[b, 1]]);
  expect(await resend(id, { since: new Date(Date.now() - 60_000) })).toBe(2);
  expect(await endpointBacklog(store, id)).toMatchObject({ waiting: 2, setAside: 0 });
  expect(await listed({ state: 'waiting' })).toHaveLength(2);
  // With the two of the other endpoint.
  expect(await deliveryFigures(store)).toMatchObject({ waiting: 4 });
  expect(await deliveryFigures(store, 3)).toMatchObject({ waiting: 3 });
  expect((await sendAll()).toSorted()).toEqual(
    [
      [a, 2],
      [b, 2],
    ].toSorted(),
  );

  const tries = await listTries(store, id, { limit: 2 });
  expect(tries).toHaveLength(2);
  const older = await listTries(store, id, { limit: 10, before: tries[1]?.id ?? '' });
  expect(older).toHaveLength(4);
  expect(await listTries(store, id, { limit: 10, leadId: a })).toHaveLength(3);
  expect(await listTries(store, other.id, { limit: 10 })).toEqual([]);
});
