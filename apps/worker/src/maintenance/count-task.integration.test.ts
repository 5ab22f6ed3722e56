import { randomUUID } from 'node:crypto';
import { awaitRedis, connectRedis } from '@leadgate/boot';
import { countLinks } from '@leadgate/intake';
import {
  applyGroup,
  countEntries,
  minuteOf,
  minuteOfId,
  openStore,
  saveHeld,
} from '@leadgate/store';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { v7 as uuidv7 } from 'uuid';
import { afterEach, expect, test } from 'vitest';
import { createCloses, makeWorkspace, producerUnderTest } from '../worker-under-test.ts';
import { createCountTask } from './count-task.ts';

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
  return { store, redis, producer, workspaceId, count, counts };
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
