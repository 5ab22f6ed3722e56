import { StartError } from './process.js';

/**
 * Throws a StartError that says what to do when a Redis that was given does not answer.
 * @param {string} variable that holds the URL
 * @param {string} url
 */
export async function checkRedis(variable, url) {
  checkUrl(variable, url, ['redis:', 'rediss:'], 'redis://127.0.0.1:6379');
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, { lazyConnect: true, retryStrategy: null, connectTimeout: 5000 });
  /** @type {unknown} */
  let cause;
  redis.on('error', (error) => {
    cause = error;
  });
  try {
    await redis.connect();
    await redis.ping();
  } catch (error) {
    throw doesNotAnswer('Redis', variable, url, cause ?? error);
  } finally {
    redis.disconnect();
  }
}

/**
 * Throws a StartError that says what to do when a Postgres that was given does not answer.
 * @param {string} variable that holds the URL
 * @param {string} url
 */
export async function checkPostgres(variable, url) {
  checkUrl(
    variable,
    url,
    ['postgresql:', 'postgres:'],
    'postgresql://user@127.0.0.1:5432/leadgate',
  );
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw doesNotAnswer('Postgres', variable, url, error);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/**
 * @param {string} variable
 * @param {string} url
 * @param {string[]} protocols
 * @param {string} example
 */
function checkUrl(variable, url, protocols, example) {
  if (URL.canParse(url) && protocols.includes(new URL(url).protocol)) return;
  throw new StartError(`${variable} is not a URL like ${example}: correct it, or unset it`);
}

/**
 * @param {string} server
 * @param {string} variable
 * @param {string} url never shown whole: it may hold a password
 * @param {unknown} error
 */
function doesNotAnswer(server, variable, url, error) {
  const { hostname, port } = new URL(url);
  const address = port === '' ? hostname : `${hostname}:${port}`;
  return new StartError(
    `${server} at ${address} (${variable}) does not let us in: ${reason(error)}. ` +
      `Start it or correct the URL, or unset ${variable} for a private one`,
  );
}

/** @param {unknown} error */
function reason(error) {
  // Node tells of a name with several addresses in an error of several, whose own message is empty.
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error ? first.message : String(first);
}
