import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { withPostgres } from '../../../scripts/servers/session.js';
import { testDatabase } from './test-database.ts';
import { testRedis } from './test-redis.ts';

test('two databases of one process are apart, migrated and empty', async () => {
  const [a, b] = await Promise.all([testDatabase(), testDatabase()]);
  expect(a.url).not.toBe(b.url);
  const leads = await withPostgres(a.url, (client) => client.query('SELECT * FROM lead'));
  expect(leads.rowCount).toBe(0);
  await Promise.all([a.drop(), b.drop()]);
});

test('two logical Redis databases of one process are apart and empty', async () => {
  const [a, b] = await Promise.all([testRedis(), testRedis()]);
  expect(a.url).not.toBe(b.url);
  const [first, second] = [new Redis(a.url), new Redis(b.url)];
  await first.set('key', 'value');
  expect(await second.exists('key')).toBe(0);
  await a.flush();
  expect(await first.exists('key')).toBe(0);
  first.disconnect();
  second.disconnect();
});
