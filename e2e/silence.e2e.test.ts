import { expect, test, vi } from 'vitest';
import { forTest, startSilentProxy, testDatabase, testRedis } from '@leadgate/testkit';
import { post as postTo } from './leads.ts';
import { startSystem, type System } from './system.ts';

/** From when a new connection gets through. */
const WITHIN_MS = 15_000;

const silentProxy = (url: string) => forTest(startSilentProxy(url));

const post = async ({ receivers }: System, code: string, email: string): Promise<number> =>
  (await postTo(receivers[0], code, { email }, {}, 5_000)).status;

async function stored({ query }: System, workspaceId: string): Promise<number> {
  const [row] = await query<{ many: number }>(
    'SELECT count(*)::int AS many FROM submission WHERE workspace_id = $1',
    [workspaceId],
  );
  return row?.many ?? 0;
}

test('Redis is gone without a word: soon after it can be reached anew, leads are taken and applied', async () => {
  const redis = await testRedis();
  const proxy = await silentProxy(redis.url);
  const env = { REDIS_URL: proxy.url };
  const system = await forTest(startSystem({ redis, receiverEnv: env, workerEnv: env }));
  const { code, workspaceId } = await system.openLink();
  // A receiver hears of a new link, here through the proxy; until then its code is unknown to it.
  await vi.waitFor(async () => expect(await post(system, code, 'before@example.com')).toBe(202));
  await system.settle();

  proxy.silence();
  expect(await post(system, code, 'meanwhile@example.com')).toBe(503);
  proxy.admit();
  const admittedAt = Date.now();
  await vi.waitFor(async () => expect(await post(system, code, 'after@example.com')).toBe(202), {
    timeout: WITHIN_MS,
    interval: 200,
  });
  await vi.waitFor(
    async () => expect(await stored(system, workspaceId)).toBeGreaterThanOrEqual(2),
    { timeout: WITHIN_MS - (Date.now() - admittedAt), interval: 100 },
  );
}, 90_000);

test('Postgres is gone without a word: soon after it can be reached anew, leads are applied', async () => {
  const database = await testDatabase();
  const proxy = await silentProxy(database.url);
  const system = await forTest(
    startSystem({
      postgres: { url: database.url, isMigrated: true },
      workerEnv: { DATABASE_URL: proxy.url },
    }),
  );
  const { code, workspaceId } = await system.openLink();
  expect(await post(system, code, 'before@example.com')).toBe(202);
  await system.settle();

  proxy.silence();
  expect(await post(system, code, 'meanwhile@example.com')).toBe(202);
  await vi.waitFor(() => expect(proxy.silenced()).toBeGreaterThan(0));
  proxy.admit();
  await vi.waitFor(async () => expect(await stored(system, workspaceId)).toBe(2), {
    timeout: WITHIN_MS,
    interval: 100,
  });
}, 90_000);
