import { randomUUID } from 'node:crypto';
import { awaitRedis, connectRedis } from '@leadgate/boot';
import { externalKey, type Submission } from '@leadgate/contract';
import { countLinks } from '@leadgate/intake';
import { loadOperation, Refusal, type Call, type Connections } from '@leadgate/operations';
import { startApplyWorker } from '@leadgate/queue';
import {
  applyGroup,
  countEntries,
  dayAfter,
  minuteOf,
  minuteOfId,
  openStore,
  partsOf,
  rankSubjects,
  saveHeld,
  unsettled,
} from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, expect, test, vi } from 'vitest';
import { createCloses, makeWorkspace, producerUnderTest } from '../../test/worker.ts';
import { createCountTask } from './count-task.ts';
import { createLedgerTask } from './ledger-task.ts';

const closes = createCloses();
afterEach(closes.all);

async function open() {
  const [database, { url }] = await Promise.all([testDatabase(), testRedis()]);
  closes.add('database', database.drop);
  const store = openStore({ url: database.url, poolSize: 2 });
  closes.add('store', store.close);
  const redis = connectRedis(url, { role: 'admin' });
  closes.add('redis', () => redis.disconnect());
  await awaitRedis(redis);
  const producer = await producerUnderTest(url, closes);
  const workspaceId = await makeWorkspace(store);
  const count = () => createCountTask(redis, store, { hold: () => Promise.resolve(true) }).run();
  const counts = async (subject: string, by: 'minute' | 'hour' | 'day' = 'hour') => {
    const where = { subject };
    const rows =
      by === 'minute'
        ? await store.prisma.seriesMinute.findMany({ where })
        : by === 'hour'
          ? await store.prisma.seriesHour.findMany({ where })
          : await store.prisma.seriesDay.findMany({ where });
    const sums: Record<string, number> = {};
    for (const { what, n } of rows) sums[what] = (sums[what] ?? 0) + n;
    return sums;
  };
  return { store, redis, url, producer, workspaceId, count, counts };
}

test('what came by a link is counted once by what came of it, however often its jobs run', async () => {
  const { store, redis, producer, workspaceId, count, counts } = await open();
  const linkId = randomUUID();
  const now = Date.now() * 1_000;
  const posts = Array.from({ length: 5 }, (_, n) =>
    sampleSubmission(n === 4 ? 0 : n, {
      ...{ id: uuidv7(), workspaceId, linkId, order: now + n, stamp: now + n },
    }),
  );
  const clicked = posts[1] ?? expect.fail();
  clicked.lead.attribution = { clickedAt: new Date(now / 1_000 - 90_000).toISOString() };
  const held = sampleSubmission(9, {
    ...{ id: uuidv7(), workspaceId, linkId, order: now + 9, stamp: now + 9 },
    ...{ identities: [], held: { reason: 'honeypot', keys: [] } },
  });
  await Promise.all([...posts, held].map((one) => producer.enqueue(one)));
  await producer.enqueue(clicked, { repeat: true });
  await count();
  await count();
  const items = posts.map((submission) => ({ submission, replay: false }));
  await applyGroup(store, items);
  await applyGroup(store, items.slice(0, 2));
  await applyGroup(store, [{ submission: clicked, replay: true }]);
  await saveHeld(store, [held]);
  await saveHeld(store, [held]);
  const receiver = countLinks(redis);
  for (let n = 0; n < 3; n++)
    receiver.count({ workspaceId, linkId }, 'refused:invalid-lead', Date.now());
  receiver.count({ workspaceId, linkId }, 'spooled', Date.now());
  await receiver.close();
  await count();

  const expected = {
    ...{ accepted: 6, resent: 1, created: 4, updated: 1, repeated: 2, held: 1 },
    ...{ 'refused:invalid-lead': 3, spooled: 1, 'speed:5m': 1 },
  };
  expect(await counts(linkId)).toEqual(expected);
  expect(await counts(linkId, 'minute')).toEqual(expected);
  expect(await counts(linkId, 'day')).toEqual(expected);
  expect(await counts(workspaceId)).toEqual(expected);
  const minutes = await store.prisma.seriesMinute.findMany({
    where: { subject: linkId, what: 'created' },
  });
  expect(minutes[0]?.at.getTime()).toBe(minuteOfId(clicked.id));

  const campaigns = await store.prisma.campaign.findMany({ where: { workspaceId } });
  expect(campaigns.map(({ kind, utm }) => [kind, ...utm]).toSorted()).toEqual([
    ['campaign', 'instagram', 'cpc', 'lancamento-outubro'],
    ['source', 'instagram'],
  ]);
  for (const { id } of campaigns)
    expect(await counts(id)).toMatchObject({ created: 4, updated: 1 });
  expect(await store.prisma.tally.count()).toBe(0);

  // Compared, and with what a worker of before this release adds, which has a row of each.
  const today = new Date().toISOString().slice(0, 10);
  const compare = () => {
    const parts = partsOf({ from: dayAfter(today, -1), to: today, today });
    return rankSubjects(store, { workspaceId, kind: 'link', parts });
  };
  const compared = { id: linkId, accepted: 6, created: 4, updated: 1 };
  expect(await compare()).toMatchObject([compared]);
  for (const what of ['created', 'accepted', 'created'])
    await store.prisma.$executeRaw`
      INSERT INTO series_rank
      SELECT ${workspaceId}::uuid, 'link', span, date_trunc(span, ${today}::date), ${linkId}::uuid, ${what}, 10
      FROM unnest(ARRAY['day', 'month']) AS span
      ON CONFLICT (workspace_id, kind, span, at, subject, what) DO UPDATE SET n = series_rank.n + excluded.n`;
  expect(await compare()).toMatchObject([{ ...compared, accepted: 16, created: 24 }]);
});

test('entries that two workers count at once, or one that was killed before it let them go, count once', async () => {
  const { store, workspaceId, count, counts } = await open();
  const linkId = randomUUID();
  const at = minuteOf(Date.now());
  const tally = { workspaceId, linkId, at, what: 'accepted', utm: null, n: 7 } as const;
  const read = { stream: 'accepted-9', from: '0-0', to: '5-1' };
  const both = await Promise.all([1, 2].map(() => countEntries(store, read, [tally])));
  expect(both.toSorted()).toEqual([false, true]);
  expect(await countEntries(store, read, [tally])).toBe(false);
  await count();
  expect(await counts(linkId)).toEqual({ accepted: 7 });
});

const notAsked = () => Promise.reject(new Error('not asked for'));
const call: Call = {
  actor: { kind: 'command-line', name: 'tests', role: 'administrator', workspaces: [] },
  ...{ requestId: null, signal: new AbortController().signal, warn: () => undefined },
};

test('the books close but for what was accepted and is nowhere, and name it; a row that is deleted is missed', async () => {
  const { store, redis, url, producer, workspaceId, count } = await open();
  const linkId = randomUUID();
  await store.prisma.captureLink.create({ data: { id: linkId, workspaceId, label: 'Landing' } });
  const post = (n: number, more: Partial<Submission> = {}) =>
    sampleSubmission(n, {
      ...{ id: uuidv7(), workspaceId, linkId },
      order: Date.now() * 1_000 + n,
      ...more,
    });
  const [stored, poison, lost, erased] = [post(1), post(2), post(3), post(4)];
  const held = post(5, { identities: [], held: { reason: 'honeypot', keys: [] } });
  const connections: Connections = {
    ...{ store, redis: () => Promise.resolve(redis), failed: notAsked, intake: notAsked },
    ...{
      deliveries: notAsked,
      keyring: () => Promise.resolve(null),
      erasureLedger: null,
      receiverUrl: null,
    },
    consentKey: null,
    get runner(): never {
      throw new Error('not asked for');
    },
  };
  const show = await loadOperation('ledger.show');
  const books = async () => {
    const found = await show.run({ workspaceId }, connections, call);
    if (found instanceof Refusal) throw new Error(found.detail);
    return found;
  };
  let ahead = 0;
  const logger = { error: vi.fn() };
  const verify = () =>
    createLedgerTask(
      redis,
      store,
      { hold: () => Promise.resolve(true) },
      logger,
      () => Date.now() + ahead,
    ).run();

  await Promise.all([stored, poison, lost, erased, held].map((one) => producer.enqueue(one)));
  const receiver = countLinks(redis);
  receiver.count({ workspaceId, linkId }, 'spooled', Date.now());
  await receiver.close();
  await count();
  await verify();
  expect((await books()).links).toMatchObject([
    { accepted: 5, spooled: 1, waiting: 5, difference: 0 },
  ]);

  const taking = connectRedis(url, { role: 'worker' });
  closes.add('redis of jobs', () => taking.disconnect());
  // It forgets one without a word, as no worker should.
  const worker = await startApplyWorker(taking, {
    ...{
      concurrency: 10,
      logger: { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() },
    },
    apply: (submissions) =>
      Promise.all(
        submissions.map(async (submission) => {
          if (submission.id === poison.id) return { kind: 'failed', reason: 'no' } as const;
          if (submission.id === held.id) await saveHeld(store, [submission]);
          else if (submission.id !== lost.id)
            await applyGroup(store, [{ submission, replay: false }]);
          return { kind: 'settled' } as const;
        }),
      ),
  });
  closes.add('worker', () => worker.close({ timeoutMs: 2_000 }));
  await vi.waitFor(async () => {
    expect(await producer.counts()).toMatchObject({ waiting: 0, active: 0, delayed: 1 });
  }, 10_000);
  // What comes later for a person who was erased is dropped.
  await store.prisma.lead.updateMany({
    where: { id: erased.leadId },
    data: { erasedOrder: BigInt(erased.order) + 3_600_000_000n },
  });
  await producer.enqueue(post(4, { identities: [], leadId: erased.leadId }));
  ahead = 60_000;
  const closed = {
    ...{ accepted: 6, stored: 2, held: 1, erased: 1, failed: 1, waiting: 0 },
    ...{ spooled: 1, difference: 1, submissions: [lost.id] },
  };
  await vi.waitFor(async () => {
    await verify();
    await count();
    expect((await books()).links).toMatchObject([closed]);
  }, 10_000);
  expect(logger.error).toHaveBeenCalledOnce();

  await applyGroup(store, [{ submission: lost, replay: false }]);
  await verify();
  await count();
  expect((await books()).links).toMatchObject([{ stored: 3, difference: 0, submissions: [] }]);

  await store.prisma.submission.delete({ where: { id: stored.id } });
  expect(await books()).toMatchObject({
    difference: 1,
    links: [{ difference: 1, submissions: [stored.id] }],
  });
});

test('what is dropped for the sender’s id that it repeats is not missing', async () => {
  const { store, workspaceId } = await open();
  const linkId = randomUUID();
  const one = sampleSubmission(1, { id: uuidv7(), workspaceId, linkId });
  const key = externalKey(linkId, 'row-17');
  const first = { ...one, identities: [{ key, owner: one.leadId }, ...one.identities] };
  const again = { ...first, id: uuidv7(), order: first.order + 1 };
  for (const submission of [first, again, again])
    await applyGroup(store, [{ submission, replay: false }]);
  expect(await store.prisma.submission.count()).toBe(1);
  expect(await unsettled(store, [first, again])).toEqual(new Set());
});
