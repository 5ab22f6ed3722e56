import { awaitRedis, connectRedis } from '@leadgate/boot';
import { openLinkDirectory, putLinks } from '@leadgate/intake';
import { linkEntries, openStore, refillSource, setLinkState } from '@leadgate/store';
import { testDatabase, testRedis } from '@leadgate/testkit';
import { Redis } from 'ioredis';
import { afterEach, expect, test, vi } from 'vitest';
import { createCloses, makeWorkspace } from '../../test/worker.ts';
import { createLease } from './maintenance.ts';
import { createRefillTask } from './refill-task.ts';

const closes = createCloses();
afterEach(closes.all);

const LINKS = 20_000;

test(`of ${LINKS} links one is disabled: a receiver asks for that one, and stays complete`, async () => {
  const [database, server] = await Promise.all([testDatabase(), testRedis()]);
  closes.add('database', database.drop);
  const store = openStore({ url: database.url, poolSize: 2 });
  closes.add('store', store.close);
  const workspaceId = await makeWorkspace(store);
  await store.prisma.$executeRaw`
    WITH link AS (
      INSERT INTO capture_link (id, workspace_id)
      SELECT gen_random_uuid(), ${workspaceId}::uuid FROM generate_series(1, ${LINKS})
      RETURNING id)
    INSERT INTO capture_code (code, link_id) SELECT 'code-' || id, id FROM link`;
  const [one] = await store.prisma.captureCode.findMany({ take: 1 });
  const { code, linkId } = one ?? { code: '', linkId: '' };

  const connect = async (role: 'admin' | 'producer' | 'worker') => {
    const redis = connectRedis(server.url, { role });
    closes.add('redis', () => redis.disconnect());
    await awaitRedis(redis);
    if (!(redis instanceof Redis)) throw new Error('one Redis was expected');
    return redis;
  };
  const upkeep = await connect('admin');
  let now = 0;
  const task = createRefillTask(
    upkeep,
    refillSource(store),
    createLease(upkeep, 'leadgate:upkeep', 5_000),
    () => (now += 60_000),
  );
  expect(await task.run()).toMatchObject({ links: LINKS });

  const [redis, subscriber] = [await connect('producer'), await connect('worker')];
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const directory = await openLinkDirectory(redis, subscriber, { logger });
  closes.add('directory', () => directory.close());
  expect(directory.complete).toBe(true);
  const commands = vi.spyOn(redis, 'sendCommand');
  const bytes = () => redis.stream.bytesRead + subscriber.stream.bytesRead;
  const before = bytes();
  const complete = new Set<boolean>();
  const watching = setInterval(() => complete.add(directory.complete), 1);
  closes.add('watching', () => clearInterval(watching));

  await setLinkState(store, linkId, 'disabled');
  await putLinks(upkeep, await linkEntries(store, linkId));
  expect(await task.run()).toMatchObject({ changedLinks: 1 });

  await vi.waitFor(() =>
    expect(logger.info).toHaveBeenLastCalledWith(
      expect.objectContaining({ changed: 1 }),
      'link directory followed',
    ),
  );
  expect(directory.peek(code)?.state).toBe('disabled');
  expect(complete).toEqual(new Set([true]));
  const names = commands.mock.calls.map(([command]) => command.name);
  expect(names.filter((name) => name !== 'ping').length, names.join()).toBeLessThanOrEqual(6);
  expect(bytes() - before).toBeLessThan(5_000);
}, 60_000);
