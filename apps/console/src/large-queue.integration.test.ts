import { openProducer } from '@leadgate/queue';
import { sampleSubmission, testDatabase, testRedis } from '@leadgate/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { consoleUnderTest, type Ask, type ConsoleUnderTest } from '../test/console.ts';

const JOBS = 20_000;

let database: Awaited<ReturnType<typeof testDatabase>>;
let redisServer: Awaited<ReturnType<typeof testRedis>>;
let console_: ConsoleUnderTest;
let operator: Ask;

beforeAll(async () => {
  database = await testDatabase();
  redisServer = await testRedis();
  console_ = await consoleUnderTest({ databaseUrl: database.url, redisUrl: redisServer.url });
  operator = await console_.withToken('operator');
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const producer = await openProducer(console_.redis, { logger });
  await producer.enqueue(sampleSubmission(1));
  await producer.close();
  // As many again that wait, are in the background, come later and have failed: copies of the one,
  // whose ids a script makes.
  await console_.redis.eval(
    FILL,
    0,
    'leadgate:{leads-0}:',
    (await console_.redis.lindex('leadgate:{leads-0}:wait', 0)) ?? '',
    JOBS,
    Date.now(),
  );
}, 60_000);

const FILL = `
local prefix, first, count, now = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local job = redis.call('HGETALL', prefix .. first)
local function copy(id, ...)
  redis.call('HSET', prefix .. id, unpack(job))
  if select('#', ...) > 0 then redis.call('HSET', prefix .. id, ...) end
end
for n = 1, count do
  copy('w' .. n)
  redis.call('LPUSH', prefix .. 'wait', 'w' .. n)
  copy('p' .. n, 'priority', 10)
  redis.call('ZADD', prefix .. 'prioritized', 10 * 4294967296 + n, 'p' .. n)
  copy('d' .. n, 'delay', 1000)
  redis.call('ZADD', prefix .. 'delayed', (now + n) * 4096, 'd' .. n)
  copy('f' .. n, 'failedReason', 'reason ' .. n % 3, 'finishedOn', now + n, 'attemptsMade', 5)
  redis.call('ZADD', prefix .. 'failed', now + n, 'f' .. n)
end`;

afterAll(async () => {
  await console_.close();
  await redisServer.flush();
  await database.drop();
});

/** What an address makes the console ask Redis for: round trips apart, commands and bytes of replies. */
async function costOf(ask: Ask, url: string): Promise<{ commands: number; bytes: number }> {
  const { redis } = console_;
  if (!('stream' in redis)) throw new Error('a Cluster');
  const before = redis.stream.bytesRead;
  let commands = 0;
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (...args: Parameters<typeof send>) => {
    commands += 1;
    return send(...args);
  };
  const { statusCode } = await ask('GET', url);
  redis.sendCommand = send;
  expect([url, statusCode]).toEqual([url, 200]);
  return { commands, bytes: redis.stream.bytesRead - before };
}

const board = (query: string) =>
  `/queues/api/queues?activeQueue=${encodeURIComponent('{leads-0}')}&${query}`;

test.each([
  ...['/', '/metrics', '/api/queue', '/api/failed?limit=50'],
  ...['waiting', 'prioritized', 'delayed', 'failed', 'latest'].map((status) =>
    board(`status=${status}&page=1&jobsPerPage=10`),
  ),
  ...['waiting', 'failed'].map((status) => board(`status=${status}&page=1900&jobsPerPage=10`)),
  board('status=waiting&page=1&jobsPerPage=20000'),
  `/queues/api/queues/${encodeURIComponent('{leads-0}')}/w10000`,
])('%s asks Redis for a page, however many jobs there are', async (url) => {
  const { commands, bytes } = await costOf(operator, url);
  expect(commands).toBeLessThan(800);
  expect(bytes).toBeLessThan(400_000);
});

test('one job is shown in its state without Redis looking through those that wait', async () => {
  const { redis } = console_;
  if (!('stream' in redis)) throw new Error('a Cluster');
  const asked: string[] = [];
  const send = redis.sendCommand.bind(redis);
  redis.sendCommand = (...args: Parameters<typeof send>) => {
    asked.push([args[0].name, ...args[0].args].join(' '));
    return send(...args);
  };
  const states = { w10000: 'waiting', p7: 'prioritized', d7: 'delayed', f7: 'failed' };
  for (const [id, state] of Object.entries(states)) {
    const url = `/queues/api/queues/${encodeURIComponent('{leads-0}')}/${id}`;
    expect((await operator('GET', url)).json()).toMatchObject({ status: state });
  }
  redis.sendCommand = send;
  expect(asked.length).toBeGreaterThan(20);
  expect(asked.filter((command) => command.includes(':wait'))).toEqual([]);
});

test('why jobs failed is told of the newest ones', async () => {
  const { commands, bytes } = await costOf(operator, '/api/failed/reasons');
  expect(commands).toBeLessThan(7_000);
  expect(bytes).toBeLessThan(1_000_000);
  const reasons = (await operator('GET', '/api/failed/reasons')).json<{ jobs: number }[]>();
  expect(reasons).toHaveLength(3);
  expect(reasons.reduce((sum, { jobs }) => sum + jobs, 0)).toBe(5_000);
});
