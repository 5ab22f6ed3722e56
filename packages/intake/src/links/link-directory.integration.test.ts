import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { CaptureLink } from '@leadgate/contract';
import { sampleLink, startRedisServer, type OwnServer } from '@leadgate/testkit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { LINKS, LINK_CHANGES, RELOAD, REVISION } from '../keys.ts';
import { openLinkDirectory } from './link-directory.ts';
import { followLinks, putLinks } from './link-changes.ts';

// As the receiver has them.
const PRODUCER = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  commandTimeout: 500,
  retryStrategy: () => 50,
};
const SUBSCRIBER = { maxRetriesPerRequest: null, retryStrategy: () => 50 };

let url: string;
let server: OwnServer;
let admin: Redis;
const closes: (() => unknown)[] = [];
beforeAll(async () => {
  // Of its own: publications reach every database of a Redis, and others' would be heard here.
  server = await startRedisServer();
  url = server.url;
  admin = new Redis(url);
});
beforeEach(() => admin.flushdb());
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

function connect(to: string, options: typeof PRODUCER | typeof SUBSCRIBER): Redis {
  const redis = new Redis(to, options);
  redis.on('error', () => undefined);
  closes.push(() => redis.disconnect());
  return redis;
}

async function open(to = url) {
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const redis = connect(to, PRODUCER);
  const subscriber = connect(to, SUBSCRIBER);
  await Promise.all([redis, subscriber].map((r) => once(r, 'ready')));
  const directory = await openLinkDirectory(redis, subscriber, { logger });
  closes.push(() => directory.close());
  return { directory, redis, subscriber, logger };
}

const aLink = (): CaptureLink => sampleLink({ linkId: randomUUID(), workspaceId: randomUUID() });

async function fill(redis: Redis, links: Record<string, CaptureLink>, revision = 1): Promise<void> {
  await redis.hset(LINKS, REVISION, revision);
  await putLinks(
    redis,
    Object.entries(links).map(([code, link]) => ({ code, link })),
  );
}

describe('what is found', () => {
  test('everything that was there at the start, without asking Redis', async () => {
    const link = aLink();
    const many = Object.fromEntries(Array.from({ length: 2_500 }, (_, i) => [`code${i}`, link]));
    await fill(admin, many);
    const { directory, redis } = await open();
    redis.disconnect();
    expect(await directory.find('code2499')).toEqual({ kind: 'found', link });
    expect(directory.peek('code0')).toEqual(link);
    expect(directory.peek('other')).toBeNull();
  });

  test('a code that does not exist is unknown only in a complete directory', async () => {
    const { directory } = await open();
    expect(directory.complete).toBe(false);
    expect(await directory.find('nothing')).toEqual({ kind: 'not-known-yet' });
    await fill(admin, {});
    await admin.publish(LINK_CHANGES, RELOAD);
    await expect.poll(() => directory.find('nothing')).toEqual({ kind: 'unknown' });
  });

  test('a link made a moment ago is found though word of it never came', async () => {
    await fill(admin, {});
    const { directory } = await open();
    const link = aLink();
    await admin.hset(LINKS, 'new', JSON.stringify(link));
    const findings = await Promise.all([directory.find('new'), directory.find('new')]);
    expect(findings).toEqual([
      { kind: 'found', link },
      { kind: 'found', link },
    ]);
  });

  test('a link that was asked for before it was made is found once it is', async () => {
    await fill(admin, {});
    const { directory } = await open();
    expect(await directory.find('new')).toEqual({ kind: 'unknown' });
    const link = aLink();
    await putLinks(admin, [{ code: 'new', link }]);
    await expect.poll(() => directory.find('new')).toEqual({ kind: 'found', link });
  });

  test('a change of a link arrives', async () => {
    const link = aLink();
    await fill(admin, { code: link });
    const { directory } = await open();
    await putLinks(admin, [{ code: 'code', link: { ...link, state: 'disabled' } }]);
    await expect.poll(() => directory.peek('code')?.state).toBe('disabled');
  });

  test('an entry that cannot be read is reported, not known yet, and heals', async () => {
    await fill(admin, {});
    await admin.hset(LINKS, 'a-broken-code', '{"v":99}');
    const { directory, logger } = await open();
    expect(logger.error).toHaveBeenCalledExactlyOnceWith({ code: 'a-brok…' }, expect.any(String));
    expect(await directory.find('a-broken-code')).toEqual({ kind: 'not-known-yet' });
    const link = aLink();
    await putLinks(admin, [{ code: 'a-broken-code', link }]);
    await expect.poll(() => directory.find('a-broken-code')).toEqual({ kind: 'found', link });
  });
});

describe('changes', () => {
  const change = (from: number, to: number, codes: Record<string, CaptureLink | null>) =>
    followLinks(admin, from, {
      revision: to,
      entries: Object.entries(codes).map(([code, link]) => ({ code, link })),
    });

  test('are followed, also those that nobody told of, and the directory is complete all the while', async () => {
    const link = aLink();
    await fill(admin, { changed: link, gone: link });
    const { directory, redis, logger } = await open();
    const scanned = vi.spyOn(redis, 'hscan');
    expect(await change(1, 2, { changed: { ...link, state: 'disabled', revision: 2 } })).toBe(true);
    await expect.poll(() => directory.peek('changed')?.state).toBe('disabled');
    const told = vi.spyOn(admin, 'publish').mockResolvedValue(0);
    await change(2, 3, { gone: null });
    await change(3, 4, { made: { ...link, revision: 4 } });
    told.mockRestore();
    await change(4, 5, { other: { ...link, revision: 5 } });
    await expect.poll(() => directory.peek('made')).toEqual({ ...link, revision: 4 });
    expect(await directory.find('gone')).toEqual({ kind: 'unknown' });
    expect(directory.complete).toBe(true);
    expect(scanned).not.toHaveBeenCalled();
    expect(logger.warn).not.toHaveBeenCalled();
  });

  test('that are no longer known have all of it loaded, complete all the while', async () => {
    const link = aLink();
    await fill(admin, { code: link });
    const { directory } = await open();
    await admin.hset(LINKS, REVISION, 9, 'new', JSON.stringify(link));
    const seen = new Set<boolean>();
    await admin.publish(LINK_CHANGES, 'other');
    await expect
      .poll(() => {
        seen.add(directory.complete);
        return directory.peek('new');
      })
      .toEqual(link);
    expect(seen).toEqual(new Set([true]));
  });

  test('that come while the directory is loaded are in it when it is', async () => {
    const link = aLink();
    const many = Array.from({ length: 3_000 }, (_, i) => [`code${i}`, link] as const);
    await fill(admin, Object.fromEntries(many));
    const { directory, redis, subscriber } = await open();
    const hscan = redis.hscan.bind(redis) as (...args: unknown[]) => Promise<[string, string[]]>;
    let revision = 1;
    vi.spyOn(redis, 'hscan').mockImplementation(async (...args: unknown[]) => {
      const to = revision + 1;
      await change(revision, to, { [`code${to}`]: { ...link, state: 'disabled', revision: to } });
      revision = to;
      return hscan(...args);
    });
    subscriber.disconnect(true);
    await expect
      .poll(() => directory.peek('code3')?.state === 'disabled' && directory.complete)
      .toBe(true);
    expect(directory.peek(`code${revision}`)?.state).toBe('disabled');
  });
});

describe('floods of unknown codes', () => {
  test('cost one call for many, and none for the same code soon after', async () => {
    await fill(admin, {});
    const { directory, redis } = await open();
    const hmget = vi.spyOn(redis, 'hmget');
    const flood = () =>
      Promise.all(Array.from({ length: 5_000 }, (_, i) => directory.find(`x${i}`)));
    expect(new Set((await flood()).map(({ kind }) => kind))).toEqual(new Set(['unknown']));
    expect(hmget.mock.calls.length).toBeLessThanOrEqual(2);
    hmget.mockClear();
    await directory.find('x0');
    expect(hmget).not.toHaveBeenCalled();
  });

  test('are not known yet, and never rejected, while Redis is away', async () => {
    await fill(admin, {});
    const { directory, redis } = await open();
    redis.disconnect();
    expect(await directory.find('x')).toEqual({ kind: 'not-known-yet' });
  });
});

describe('Redis away, emptied, older', () => {
  let server: OwnServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());

  test('what was loaded goes on being answered, and what changed meanwhile comes at the return', async () => {
    const own = connect(server.url, SUBSCRIBER);
    const link = aLink();
    await fill(own, { code: link });
    const { directory } = await open(server.url);
    expect(directory.complete).toBe(true);

    await server.kill();
    await expect.poll(() => directory.complete).toBe(false);
    expect(await directory.find('code')).toEqual({ kind: 'found', link });
    expect(await directory.find('other')).toEqual({ kind: 'not-known-yet' });

    await server.restart();
    await own.hset(LINKS, 'other', JSON.stringify(link));
    await expect.poll(() => directory.complete, { timeout: 5_000 }).toBe(true);
    expect(await directory.find('other')).toEqual({ kind: 'found', link });
    expect(await directory.find('third')).toEqual({ kind: 'unknown' });
  });

  test('a receiver that starts without Redis starts, and loads when it comes', async () => {
    const own = connect(server.url, SUBSCRIBER);
    const link = aLink();
    await fill(own, { code: link });
    await server.kill();
    const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
    const redis = connect(server.url, PRODUCER);
    const subscriber = connect(server.url, SUBSCRIBER);
    const directory = await openLinkDirectory(redis, subscriber, { logger });
    closes.push(() => directory.close());
    expect(await directory.find('code')).toEqual({ kind: 'not-known-yet' });
    await server.restart();
    await expect
      .poll(() => directory.find('code'), { timeout: 5_000 })
      .toEqual({ kind: 'found', link });
  });

  test('an emptied Redis makes no code unknown, and takes none away', async () => {
    const link = aLink();
    await fill(admin, { code: link });
    const { directory, subscriber } = await open();
    await admin.flushdb();
    expect(await directory.find('other')).toEqual({ kind: 'not-known-yet' });
    subscriber.disconnect(true);
    await once(subscriber, 'ready');
    await expect.poll(() => directory.find('code')).toEqual({ kind: 'found', link });
    expect(directory.complete).toBe(false);
  });

  test('an older directory is not taken for a complete one until it was refilled', async () => {
    const link = aLink();
    await fill(admin, { old: link, new: link }, 9);
    const { directory, subscriber, logger } = await open();
    await admin.hdel(LINKS, 'new');
    await admin.hset(LINKS, REVISION, 8, 'old', JSON.stringify({ ...link, state: 'disabled' }));
    subscriber.disconnect(true);
    await expect.poll(() => logger.warn.mock.calls.length).toBeGreaterThan(0);
    expect(await directory.find('new')).toEqual({ kind: 'found', link });
    expect(directory.peek('old')?.state).toBe('open');
    expect(await directory.find('other')).toEqual({ kind: 'not-known-yet' });
    await admin.publish(LINK_CHANGES, RELOAD);
    await expect.poll(() => directory.find('new')).toEqual({ kind: 'unknown' });
    expect(directory.peek('old')?.state).toBe('disabled');
  });

  test('after close nothing is heard and nobody is answered that a code does not exist', async () => {
    await fill(admin, {});
    const { directory } = await open();
    await directory.close();
    expect(directory.complete).toBe(false);
    expect(await directory.find('x')).toEqual({ kind: 'not-known-yet' });
  });
});
