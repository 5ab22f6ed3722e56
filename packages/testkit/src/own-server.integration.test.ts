import { existsSync } from 'node:fs';
import { Redis } from 'ioredis';
import pg from 'pg';
import { expect, test } from 'vitest';
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
  const before = await connect(server.url);
  await before.query('CREATE TABLE kept (n int)');
  await server.kill();
  await server.restart();
  const after = await connect(server.url);
  expect((await after.query('SELECT * FROM kept')).rowCount).toBe(0);
  await after.end();
  const { pid } = server;
  await server.stop();
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  expect(existsSync(`/proc/${pid.toString()}`)).toBe(false);
});

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
