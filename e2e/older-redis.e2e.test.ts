import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { folderForTest, forTest, type OwnServer, startRedisServer } from '@leadgate/testkit';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FILES, folderOf, turnClocks } from '../chaos/src/older-redis.ts';
import { withRedis } from '../scripts/servers/session.js';
import { post as postTo } from './leads.ts';
import { startSystem, type System } from './system.ts';

/** An operator's ways back to an older state: the files of a backup, or every key of a dump. */
const WAYS = {
  'its files were put back': async (redis: OwnServer) => {
    const [files, backup] = [join(await folderOf(redis), FILES), join(folderForTest(), 'backup')];
    await cp(files, backup, { recursive: true });
    return async () => {
      await redis.kill('SIGTERM');
      await rm(files, { recursive: true });
      await cp(backup, files, { recursive: true });
      await redis.restart();
    };
  },
  'its keys were put back while it ran': async ({ url }: OwnServer) => {
    const admin = new Redis(url);
    onTestFinished(() => admin.disconnect());
    const dump = await Promise.all(
      (await admin.keys('*')).map(async (key) => [key, await admin.dumpBuffer(key)] as const),
    );
    return async () => {
      const all = admin.multi().flushdb();
      for (const [key, value] of dump) all.restore(key, 0, value);
      await all.exec();
    };
  },
};

async function post(url: string, code: string, lead: object): Promise<string | null> {
  const { status, leadId } = await postTo({ url }, code, lead);
  return status === 202 ? leadId : null;
}

const HOURS_OLD = 6;
const PEOPLE = 1_000;
const AT_ONCE = 20;

/** The ids of many people, posted to one receiver and the other. */
async function postPeople(urls: readonly string[], code: string): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  const sender = async (): Promise<void> => {
    for (let n = next++; n < PEOPLE; n = next++)
      ids[n] = await postUntilTaken(urls[n % urls.length] ?? '', code, {
        email: `person${n}@example.com`,
        telephone: `119${(70_000_000 + n).toString()}`,
      });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sender));
  return ids;
}

/** As senders do: what was not taken is sent again. */
async function postUntilTaken(url: string, code: string, lead: object): Promise<string> {
  let taken: string | null = null;
  await expect
    .poll(async () => (taken = await post(url, code, lead).catch(() => null)), {
      timeout: 30_000,
      interval: 20,
    })
    .not.toBeNull();
  return taken ?? '';
}

async function startOnOwnRedis(): Promise<{ system: System; redis: OwnServer }> {
  const redis = await forTest(startRedisServer());
  return { redis, system: await forTest(startSystem({ redis, receivers: 2 })) };
}

describe.each(Object.entries(WAYS))('an older Redis: %s', (_way, backUp) => {
  test('a receiver that remembers less claims nothing on it, and people keep their ids', async () => {
    const { system, redis } = await startOnOwnRedis();
    const { code } = await system.openLink();
    const [first, second] = system.receivers.map(({ url }) => url) as [string, string];
    const bob = await post(first, code, { telephone: '11987654321', name: 'Bob' });
    await post(second, code, { email: 'bob@example.com' });
    await system.settle();
    // Hours old by the clock of orders, and by thousands of them.
    await withRedis(redis.url, (admin) => turnClocks(admin, -HOURS_OLD));
    const bringBack = await backUp(redis);
    await withRedis(redis.url, (admin) => turnClocks(admin, HOURS_OLD));
    const ana = await post(first, code, { email: 'ana@example.com', name: 'Ana' });
    const people = await postPeople([first, second], code);
    await system.settle();

    await bringBack();

    await postUntilTaken(second, code, { email: 'carol@example.com' });
    // Her email is known to Postgres only, the telephone to the older Redis: she is still Ana.
    const lead = { email: 'ana@example.com', telephone: '11987654321', city: 'Recife' };
    expect(await postUntilTaken(second, code, lead)).toBe(ana);
    await system.settle();
    expect(await system.query('SELECT name, city FROM lead WHERE id = $1', [bob])).toEqual([
      { name: 'Bob', city: null },
    ]);
    expect(await system.query('SELECT id FROM lead WHERE merged_into IS NOT NULL')).toEqual([]);
    expect(await postPeople([second, first], code)).toEqual(people);
    await system.settle();
    expect(await system.query('SELECT count(*)::int AS leads FROM lead')).toEqual([
      { leads: PEOPLE + 4 },
    ]);
  }, 120_000);

  test('a receiver that starts before any worker claims nothing on it', async () => {
    const { system, redis } = await startOnOwnRedis();
    const { code } = await system.openLink();
    const [first] = system.receivers.map(({ url }) => url) as [string];
    await post(first, code, { email: 'bob@example.com' });
    await system.settle();
    const bringBack = await backUp(redis);
    const ana = await post(first, code, { email: 'ana@example.com', name: 'Ana' });
    // Brings a telephone to her lead that the older Redis does not know.
    const telephone = '11912345678';
    await post(first, code, { email: 'ana@example.com', telephone });
    await system.settle();
    await Promise.all(
      [...system.workers, ...system.receivers.map(({ member }) => member)].map((member) =>
        member.stop(),
      ),
    );

    await bringBack();

    const { url } = await system.startReceiver();
    expect(await post(url, code, { email: 'carol@example.com' })).toBeNull();
    await system.startWorker();
    await postUntilTaken(url, code, { email: 'carol@example.com' });
    expect(await postUntilTaken(url, code, { telephone })).toBe(ana);
    expect(await postUntilTaken(url, code, { email: 'ana@example.com' })).toBe(ana);
  }, 90_000);
});
