import { GenericContainer, Wait, type StartedTestContainer } from 'testcontainers';
import { IMAGES, containerEngine, hasImage } from '../../../scripts/servers/containers.js';
import { checkPostgres, checkRedis } from '../../../scripts/servers/given.js';
import { POSTGRES_TEST_SETTINGS } from '../../../scripts/servers/own-server.js';
import { endLeftoverServers, say } from '../../../scripts/servers/private-home.js';
import { startPostgresServer, startRedisServer } from './own-server.ts';

/** Where this run's Redis and Postgres are, and how to be rid of them. */
export interface Servers {
  redisUrl: string;
  databaseUrl: string;
  stop: () => Promise<void>;
}

interface Server {
  url: string;
  stop: () => Promise<void>;
}

/**
 * Servers for a run of tests: those that are given (TEST_REDIS_URL, TEST_DATABASE_URL), else
 * containers if an engine answers and has or gets the images, else private ones as `npm start`
 * has them. Throws an error that says how to get a server; tests are never skipped for want of one.
 */
export async function findServers(): Promise<Servers> {
  await endLeftoverServers();
  const { TEST_REDIS_URL, TEST_DATABASE_URL } = process.env;
  const [redis, postgres] = await Promise.allSettled([
    TEST_REDIS_URL
      ? given(TEST_REDIS_URL, checkRedis('TEST_REDIS_URL', TEST_REDIS_URL))
      : redisContainer().then((one) => one ?? startRedisServer({ settings: { databases } })),
    TEST_DATABASE_URL
      ? given(TEST_DATABASE_URL, checkPostgres('TEST_DATABASE_URL', TEST_DATABASE_URL))
      : postgresContainer().then((one) => one ?? startPostgresServer()),
  ]);
  if (redis.status === 'fulfilled' && postgres.status === 'fulfilled') {
    const stop = async () => {
      await Promise.all([redis.value.stop(), postgres.value.stop()]);
    };
    return { redisUrl: redis.value.url, databaseUrl: postgres.value.url, stop };
  }
  const failures: string[] = [];
  for (const result of [redis, postgres]) {
    if (result.status === 'fulfilled') await result.value.stop();
    else
      failures.push(result.reason instanceof Error ? result.reason.message : String(result.reason));
  }
  throw new Error(`tests need a Redis and a Postgres: ${failures.join('; ')}`);
}

/** Left as it is. */
const given = async (url: string, checked: Promise<void>): Promise<Server> => {
  await checked;
  return { url, stop: () => Promise.resolve() };
};

/** Enough for each file of tests to have its own. */
const databases = '512';

async function redisContainer(): Promise<Server | null> {
  if (process.env.TEST_REDIS_PROGRAM) return null;
  const container = await runContainer(IMAGES.redis, (image) =>
    image
      .withExposedPorts(6379)
      .withCommand([
        ...['redis-server', '--appendonly', 'yes', '--appendfsync', 'always'],
        ...['--no-appendfsync-on-rewrite', 'no', '--maxmemory-policy', 'noeviction'],
        ...['--save', '', '--databases', databases],
      ])
      .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/)),
  );
  if (container === null) return null;
  return {
    url: `redis://${container.getHost()}:${container.getMappedPort(6379).toString()}/0`,
    stop: () => stopContainer(container),
  };
}

async function postgresContainer(): Promise<Server | null> {
  const password = 'leadgate';
  const container = await runContainer(IMAGES.postgres, (image) =>
    image
      .withExposedPorts(5432)
      .withEnvironment({ POSTGRES_PASSWORD: password })
      .withCommand([
        'postgres',
        ...Object.entries(POSTGRES_TEST_SETTINGS).flatMap(([k, v]) => ['-c', `${k}=${v}`]),
      ])
      // The first is of the server that only makes the database.
      .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2)),
  );
  if (container === null) return null;
  const address = `${container.getHost()}:${container.getMappedPort(5432).toString()}`;
  return {
    url: `postgresql://postgres:${password}@${address}/postgres`,
    stop: () => stopContainer(container),
  };
}

/** As testcontainers names it when nothing else is said. */
const REAPER = process.env.RYUK_CONTAINER_IMAGE ?? 'testcontainers/ryuk:0.14.0';

/** Null if no engine answers, or has no such image and cannot get it, or cannot run it. */
async function runContainer(
  image: string,
  describe: (container: GenericContainer) => GenericContainer,
): Promise<StartedTestContainer | null> {
  const engine = containerEngine();
  if (engine === null || !hasImage(engine, image)) return null;
  // Its reaper is one more image: without it, testcontainers would fail and not go without.
  if (!hasImage(engine, REAPER)) process.env.TESTCONTAINERS_RYUK_DISABLED = 'true';
  try {
    return await describe(new GenericContainer(image).withStartupTimeout(60_000)).start();
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    say(`${image} does not run (${cause}); starting a private server instead`);
    return null;
  }
}

async function stopContainer(container: StartedTestContainer): Promise<void> {
  await container.stop({ remove: true, removeVolumes: true });
}
