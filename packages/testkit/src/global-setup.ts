import type { TestProject } from 'vitest/node';
import { findServers } from './find-servers.ts';
import { startPgbouncer } from './start-pgbouncer.ts';
import { makeTemplate } from './template-database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Any Redis database: which one is the tests' own is decided in testRedis. */
    redisUrl: string;
    /** The nodes of the Redis Cluster that the tests run on instead; null: on none. */
    redisCluster: string | null;
    /** A database from which others can be created. */
    databaseUrl: string;
    /** What tests reach their databases by: through a PgBouncer if there is to be one. */
    storeUrl: string;
    /** Name of the migrated database that testDatabase clones. */
    templateDatabase: string;
  }
}

/** Once a run: the servers, and the migrated database that tests clone. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const servers = await findServers();
  // As `npm run test:pgbouncer` says.
  const { TEST_PGBOUNCER } = process.env;
  let pgbouncer: { url: string; stop: () => Promise<void> } | null = null;
  const stop = async () => {
    await pgbouncer?.stop();
    await servers.stop();
  };
  try {
    if (TEST_PGBOUNCER) pgbouncer = await startPgbouncer(TEST_PGBOUNCER, servers.databaseUrl);
    project.provide('storeUrl', pgbouncer?.url ?? servers.databaseUrl);
    project.provide('redisUrl', servers.redisUrl);
    project.provide('redisCluster', null);
    project.provide('databaseUrl', servers.databaseUrl);
    project.provide('templateDatabase', await makeTemplate(servers.databaseUrl));
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}
