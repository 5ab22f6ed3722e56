import { Redis } from 'ioredis';
import pg from 'pg';

/**
 * Connects to a Postgres for one errand, and ends the session after it.
 * @template T
 * @param {string} url
 * @param {(client: pg.Client) => Promise<T>} use
 * @param {pg.ClientConfig} [config]
 * @returns {Promise<T>}
 */
export async function withPostgres(url, use, config) {
  const client = new pg.Client({ connectionString: url, ...config });
  // The statement that runs, or the next one, says so too.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/**
 * Connects to a Redis for one errand, and disconnects after it.
 * @template T
 * @param {string} url
 * @param {(redis: Redis) => Promise<T>} use
 * @returns {Promise<T>}
 */
export async function withRedis(url, use) {
  const redis = new Redis(url);
  redis.on('error', () => undefined);
  try {
    return await use(redis);
  } finally {
    redis.disconnect();
  }
}
