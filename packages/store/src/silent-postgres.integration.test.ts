import { type SilentProxy, startSilentProxy, testDatabase } from '@leadgate/testkit';
import { afterAll, beforeAll, describe, expect, test, type TestContext, vi } from 'vitest';
import { failureOf } from './failure-of.ts';
import { openStore, type Store } from './open-store.ts';

/** From when a new connection gets through. */
const WITHIN_MS = 15_000;

let database: Awaited<ReturnType<typeof testDatabase>>;
beforeAll(async () => void (database = await testDatabase()));
afterAll(() => database.drop());

/** A store, and the network before it. */
async function openBehindProxy(
  onTestFinished: TestContext['onTestFinished'],
): Promise<{ proxy: SilentProxy; store: Store }> {
  const proxy = await startSilentProxy(database.url);
  const store = openStore({ url: proxy.url, poolSize: 2 });
  onTestFinished(async () => {
    await store.close();
    await proxy.close();
  });
  return { proxy, store };
}

// Each waits for seconds: they do it together.
describe.concurrent('a Postgres that is gone without a word', () => {
  test('in the middle of a transaction means to wait, and both connections of the pool are made anew', async ({
    onTestFinished,
  }) => {
    const { proxy, store } = await openBehindProxy(onTestFinished);
    let arrived = 0;
    let goOn = (): void => {};
    const silenced = new Promise<void>((resolve) => (goOn = resolve));
    const broken = async () => {
      await store.prisma.$transaction(async (tx) => {
        await tx.$queryRaw`SELECT 1`;
        arrived++;
        await silenced;
        await tx.$queryRaw`SELECT 1`;
      });
    };
    const lost = Promise.all([1, 2].map(() => broken().catch(failureOf)));
    await vi.waitFor(() => expect(arrived).toBe(2), 5_000);
    proxy.silence();
    goOn();
    proxy.admit();
    const start = performance.now();
    expect(await lost).toEqual(['unavailable', 'unavailable']);
    await Promise.all([1, 2].map(() => store.prisma.$transaction((tx) => tx.$queryRaw`SELECT 1`)));
    expect(performance.now() - start).toBeLessThan(WITHIN_MS);
    expect(proxy.silenced()).toBe(0);
  }, 60_000);

  test('while nothing is asked of it: the next statement is answered soon', async ({
    onTestFinished,
  }) => {
    const { proxy, store } = await openBehindProxy(onTestFinished);
    await Promise.all([1, 2].map(() => store.prisma.$queryRaw`SELECT 1`));
    proxy.silence();
    proxy.admit();
    await vi.waitFor(() => store.prisma.$queryRaw`SELECT 1`, {
      timeout: WITHIN_MS,
      interval: 100,
    });
  }, 60_000);

  test('while it is connected to: the attempt is given up', async ({ onTestFinished }) => {
    const { proxy, store } = await openBehindProxy(onTestFinished);
    proxy.silence();
    expect(await store.prisma.$queryRaw`SELECT 1`.catch(failureOf)).toBe('unavailable');
    proxy.admit();
    expect(await store.prisma.$queryRaw`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  }, 60_000);
});
