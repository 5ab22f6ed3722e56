import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { inject } from 'vitest';
import { withRedis } from '../../../scripts/servers/session.js';

/** In database 0, which no test is given: who holds which database. */
const CLAIMS = 'leadgate-testkit:claims';
const WAIT_MS = 60_000;

export interface TestRedis {
  /** As REDIS_URL takes it: of a Cluster, all nodes with commas between them. */
  url: string;
  flush: () => Promise<void>;
  /** The keys of a pattern, of all nodes. */
  keys: (pattern: string) => Promise<string[]>;
}

/**
 * A logical database of the run's Redis, empty, and nobody else's until this file of tests is done: files
 * run beside each other, and so may other runs on a server that was given. `flush` empties it. Where
 * the run is on a Redis Cluster, that one, emptied: it has no logical databases, and its files run one
 * after the other.
 *
 * Redis does not divide pub/sub by database: a subscriber also hears what other files publish.
 */
export async function testRedis(): Promise<TestRedis> {
  const cluster = inject('redisCluster');
  const given = cluster === null ? await ownDatabase() : onNodes(cluster);
  await given.flush();
  return given;
}

async function ownDatabase(): Promise<TestRedis> {
  const server = inject('redisUrl');
  const database = await claimDatabase(server);
  const url = new URL(server);
  url.pathname = `/${database.toString()}`;
  return {
    url: url.href,
    flush: () => withRedis(url.href, async (redis) => void (await redis.flushdb())),
    keys: (pattern) => withRedis(url.href, (redis) => redis.keys(pattern)),
  };
}

function onNodes(urls: string): TestRedis {
  const ofMasters = async <T>(use: (redis: Redis) => Promise<T[]>): Promise<T[]> => {
    const answers = await Promise.all(
      urls.split(',').map((url) =>
        withRedis(url, async (redis) => {
          const [role] = await redis.role();
          return role === 'master' ? use(redis) : [];
        }),
      ),
    );
    return answers.flat();
  };
  return {
    url: urls,
    flush: async () => void (await ofMasters(async (redis) => [await redis.flushall()])),
    keys: (pattern) => ofMasters((redis) => redis.keys(pattern)),
  };
}

/** Those whose claims stand: of the file that runs, and of the files before it in this process. */
const holders: Redis[] = [];
const done: Redis[] = [];

/** The file's databases may be had by others, once there are no new ones. */
export function releaseDatabases(): void {
  done.push(...holders.splice(0));
}

/**
 * A claim is the name of the connection that made it, and stands as long as the connection: nothing is left
 * behind by a killed run.
 */
async function claimDatabase(server: string): Promise<number> {
  const holder = `leadgate-testkit-${randomUUID()}`;
  const url = new URL(server);
  url.pathname = '/0';
  const redis = new Redis(url.href, { connectionName: holder });
  const databases = await countDatabases(redis);
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const claims = await redis.hgetall(CLAIMS);
    const alive = await connectionNames(redis);
    for (let database = 1; database < databases; database++) {
      const before = claims[database.toString()];
      if (before !== undefined && alive.has(before)) continue;
      if (await claim(redis, database, before ?? '', holder)) {
        redis.on('error', () => undefined);
        redis.stream.unref();
        holders.push(redis);
        return database;
      }
    }
    if (Date.now() > deadline) {
      redis.disconnect();
      throw new Error(
        `all ${(databases - 1).toString()} logical databases of the tests' Redis are in use: ` +
          'wait for other test runs, or give a Redis with more (databases 64) in TEST_REDIS_URL',
      );
    }
    for (const before of done.splice(0)) before.disconnect();
    await delay(100);
  }
}

/** Compare and set: two processes may have seen the same dead holder. */
async function claim(redis: Redis, database: number, before: string, holder: string) {
  const script = `if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) return 1`;
  return (await redis.eval(script, 1, CLAIMS, database.toString(), before, holder)) === 1;
}

async function connectionNames(redis: Redis): Promise<Set<string>> {
  const list = String(await redis.client('LIST'));
  return new Set([...list.matchAll(/ name=(\S+)/g)].map((match) => match[1] ?? ''));
}

/** Of a server that refuses CONFIG: the 16 that Redis has by default. */
async function countDatabases(redis: Redis): Promise<number> {
  const databases = await redis
    .config('GET', 'databases')
    .then((reply) => Number(reply[1]))
    .catch(() => 16);
  return Number.isInteger(databases) ? databases : 16;
}
