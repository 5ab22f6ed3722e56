import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { forTest } from '@leadgate/testkit';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { parse } from 'yaml';
import { makeHome, say } from '../scripts/servers/private-home.js';
import { choosePort } from '../scripts/servers/process.js';
import { redisProgram } from '../scripts/servers/redis-program.js';
import { post } from './leads.ts';
import { startSystem } from './system.ts';

const root = (path: string) => new URL(`../${path}`, import.meta.url);
const compose = parse(readFileSync(root('docker-compose.yml'), 'utf8'), { merge: true }) as {
  services: { redis: { command: string[] } };
};

const PASSWORD = 'pa55word';

/** The Redis of docker-compose.yml, by its own command, at other paths and another port. */
async function composeRedis(): Promise<{ url: string; port: number }> {
  const home = await makeHome();
  onTestFinished(home.remove);
  const program = redisProgram({ home: home.programs, log: home.log, say });
  if (program.kind === 'container') throw new Error('redis-server is needed as a program');
  const data = join(home.path, 'data');
  await mkdir(data);
  const port = await choosePort(undefined);
  const [shell = '', option = '', script = ''] = compose.services.redis.command;
  const adapted = script
    .replaceAll('$$', '$')
    .replaceAll('/run/redis', home.path)
    .replace('/etc/leadgate', root('deploy/redis').pathname)
    .replace(
      'exec ',
      `echo 'user admin on >${PASSWORD} +@all ~*' >> ${home.path}/users.acl && exec `,
    )
    .replace('--dir /data', `--dir ${data} --port ${port} --bind 127.0.0.1`)
    .replace('${REDIS_MAXMEMORY:-1gb}', '256mb');
  const child = spawn(shell, [option, adapted], {
    env: {
      ...program.env,
      PATH: `${dirname(program.command)}:${process.env.PATH ?? ''}`,
      REDIS_PASSWORD: PASSWORD,
    },
    stdio: 'ignore',
  });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const url = `redis://leadgate:${PASSWORD}@127.0.0.1:${port}`;
  await vi.waitFor(() => withRedis(url, (redis) => redis.ping()), { timeout: 10_000 });
  return { url, port };
}

/** What Redis refused to anybody so far. */
const refusals = (port: number) =>
  withRedis(`redis://admin:${PASSWORD}@127.0.0.1:${port}`, (redis) => redis.acl('LOG'));

async function withRedis<Result>(url: string, ask: (redis: Redis) => Promise<Result>) {
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}

test('the rights that docker-compose.yml gives in Redis are enough for the whole system', async () => {
  const redis = await composeRedis();
  const erasures = { ERASURE_KEY: 'a key of the tests, long enough to hash' };
  const system = await forTest(startSystem({ redis, workerEnv: erasures, cliEnv: erasures }));
  const workspace = await system.cli<{ id: string }>('workspace', 'create', 'Agency');
  const link = await system.cli<{ codes: { code: string }[] }>('link', 'create', 'Agency');
  const { code = '' } = link.codes[0] ?? {};
  const statusOf = async (lead: object) => {
    const key = { 'idempotency-key': JSON.stringify(lead) };
    return (await post(system.receivers[0], code, lead, key)).status;
  };
  await vi.waitFor(async () => expect(await statusOf({ email: 'ana@example.com' })).toBe(202));
  expect(await statusOf({ email: 'nobody' })).toBe(422);
  await system.settle();
  expect(await system.query('SELECT email FROM lead')).toEqual([{ email: 'ana@example.com' }]);
  await system.cli('queue', 'stats');
  await system.cli('queue', 'pause');
  await system.cli('queue', 'resume');
  await system.cli('failed', 'list');
  await system.cli('shards', 'list');
  await system.cli('doctor');
  await system.cli('replay', '--workspace', workspace.id);
  await system.settle();
  const whom = ['--email', 'ana@example.com', '--workspace', 'Agency'];
  await system.cli('lead', 'erase', ...whom, '--reason', 'a test');
  expect(await refusals(redis.port)).toEqual([]);
  for (const refused of [
    (client: Redis) => client.flushall(),
    (client: Redis) => client.keys('*'),
    (client: Redis) => client.config('SET', 'appendfsync', 'no'),
    (client: Redis) => client.get('of-another-application'),
    (client: Redis) => client.acl('LIST'),
  ])
    await expect(withRedis(redis.url, (client) => refused(client))).rejects.toThrow(/NOPERM/);
  for (const other of ['', ':wrong@', 'default:x@'])
    await expect(
      withRedis(`redis://${other}127.0.0.1:${redis.port}`, (client) => client.ping()),
    ).rejects.toThrow();
}, 120_000);
