import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findServers } from './servers.ts';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadgate-cli-'));
});

afterEach(() => rm(folder, { recursive: true }));

const RUN = {
  databaseUrl: 'postgresql://a@127.0.0.1:1/run',
  redisUrl: 'redis://127.0.0.1:2',
  receiverUrl: 'http://127.0.0.1:3000/',
};

async function writeRun(home: string, content: unknown = RUN): Promise<void> {
  await mkdir(home, { recursive: true });
  await writeFile(join(home, 'run.json'), JSON.stringify(content));
}

test('without any of it nothing is known, and that is no error yet', () => {
  expect(findServers({ env: {}, cwd: folder })).toEqual({
    databaseUrl: null,
    redisUrl: null,
    receiverUrl: null,
    allowNetworks: null,
    secrets: {},
  });
});

test('the nearest run.json above the current folder is read', async () => {
  const cwd = join(folder, 'a', 'b');
  await mkdir(cwd, { recursive: true });
  await writeRun(join(folder, '.leadgate'));
  expect(findServers({ env: {}, cwd })).toEqual({
    ...{ ...RUN, receiverUrl: 'http://127.0.0.1:3000', allowNetworks: null, secrets: {} },
  });
});

test('LEADGATE_HOME says where run.json is', async () => {
  const home = join(folder, 'home');
  await writeRun(home);
  await writeRun(join(folder, '.leadgate'), { ...RUN, redisUrl: 'redis://127.0.0.1:9' });
  const env = { LEADGATE_HOME: 'home' };
  expect(findServers({ env, cwd: folder }).redisUrl).toBe(RUN.redisUrl);
});

test('one server of the environment is never joined with another of npm start', async () => {
  await writeRun(join(folder, '.leadgate'));
  const env = { DATABASE_URL: 'postgresql://b@127.0.0.1:1/env', REDIS_URL: ' ' };
  expect(findServers({ env, cwd: folder })).toEqual({
    databaseUrl: env.DATABASE_URL,
    redisUrl: null,
    receiverUrl: null,
    allowNetworks: null,
    secrets: {},
  });
});

test('a setting that is no URL is named, and its value, which may be a secret, is not', () => {
  const env = { DATABASE_URL: 'hunter2', REDIS_URL: 'http://hunter2' };
  expect(() => findServers({ env, cwd: folder })).toThrow(/DATABASE_URL[^]*REDIS_URL/);
  expect(() => findServers({ env, cwd: folder })).not.toThrow(/hunter2/);
});

test.each([
  ['no object', 7],
  ['without a database', { redisUrl: 'redis://x' }],
])('a run.json that is %s is said to be of no use', async (_, content) => {
  await writeRun(join(folder, '.leadgate'), content);
  expect(() => findServers({ env: {}, cwd: folder })).toThrow(/run\.json.*npm start/);
});
