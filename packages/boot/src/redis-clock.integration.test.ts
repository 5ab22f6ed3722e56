import { testRedis } from '@leadgate/testkit';
import { afterEach, expect, test, vi } from 'vitest';
import { startRedisClock } from './redis-script.ts';
import { awaitRedis, connectRedis } from './redis.ts';

afterEach(() => vi.restoreAllMocks());

test('a machine that is years wrong reads the time of Redis, also after Redis went away', async () => {
  const truth = Date.now();
  vi.spyOn(Date, 'now').mockReturnValue(0);
  const redis = connectRedis((await testRedis()).url, { role: 'producer' });
  const clock = startRedisClock(redis);
  expect(clock.now()).toBe(0);
  await awaitRedis(redis);
  await vi.waitFor(() => expect(Math.abs(clock.now() - truth)).toBeLessThan(60_000));
  redis.disconnect();
  const before = clock.now();
  await vi.waitFor(() => expect(clock.now()).toBeGreaterThan(before));
  clock.close();
});
