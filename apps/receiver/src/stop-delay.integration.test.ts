import { afterEach, expect, test } from 'vitest';
import { testRedis } from '@leadgate/testkit';
import { closeAll, closes, startOn } from '../test/receiver.ts';

afterEach(closeAll);

test('a receiver that stops says so while it still answers, for the load balancer to turn away', async () => {
  const redis = await testRedis();
  closes.push(() => redis.flush());
  const receiver = await startOn(redis.url, { STOP_DELAY_MS: '1000' });
  const closed = receiver.close();
  expect((await receiver.ready()).reasons).toContain('The receiver is stopping.');
  expect((await receiver.post({})).status).toBe(503); // Its own answer: no link is known.
  await closed;
  await expect(receiver.post({})).rejects.toThrow('fetch failed');
});
