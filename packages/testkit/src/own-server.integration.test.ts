import { existsSync } from 'node:fs';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { withPostgres } from '../../../scripts/servers/session.js';
import { startPostgresServer, startRedisServer } from './own-server.ts';

test('a Redis that is killed right after a write has it when it is back on its port', async () => {
  const server = await startRedisServer();
  const before = new Redis(server.url);
  before.on('error', () => undefined);
  await before.set('key', 'value');
  await server.kill();
  before.disconnect();
  const { port } = server;
  await server.restart();
  const after = new Redis(server.url);
  expect(await after.get('key')).toBe('value');
  expect(server.port).toBe(port);
  after.disconnect();
  await server.stop();
});

test('a Postgres that is killed right after a commit has it when it is back, and leaves no process', async () => {
  const server = await startPostgresServer();
  await withPostgres(server.url, async (client) => {
    await client.query('CREATE TABLE kept (n int)');
    await server.kill();
  });
  await server.restart();
  const kept = await withPostgres(server.url, (client) => client.query('SELECT * FROM kept'));
  expect(kept.rowCount).toBe(0);
  const { pid } = server;
  await server.stop();
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  expect(existsSync(`/proc/${pid.toString()}`)).toBe(false);
});
