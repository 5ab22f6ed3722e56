import { testDatabase, testRedis } from '@leadgate/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { consoleUnderTest } from '../test/console.ts';

test('views of leads are kept with the operator who keeps them, and are no one else’s', async () => {
  const [database, redis] = await Promise.all([testDatabase(), testRedis()]);
  const console_ = await consoleUnderTest({ databaseUrl: database.url, redisUrl: redis.url });
  onTestFinished(async () => {
    await console_.close();
    await database.drop();
  });
  const [vera, otto] = await Promise.all([
    console_.signIn('Vera', 'viewer'),
    console_.signIn('Otto', 'operator'),
  ]);
  const views = [{ name: 'Sem telefone', query: 'telephone=no&period=7d' }];
  expect((await vera('POST', '/api/me/views', { payload: { views } })).json()).toEqual(views);
  expect((await vera('GET', '/api/me/views')).json()).toEqual(views);
  expect((await otto('GET', '/api/me/views')).json()).toEqual([]);
  // A program has no page.
  const token = await console_.withToken('operator');
  expect((await token('GET', '/api/me/views')).statusCode).toBe(409);
});
