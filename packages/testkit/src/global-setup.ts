import type { TestProject } from 'vitest/node';
import { findServers } from './find-servers.ts';
import { makeTemplate } from './template-database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Any Redis database: which one is the tests' own is decided in testRedis. */
    redisUrl: string;
    /** A database from which others can be created. */
    databaseUrl: string;
    /** Name of the migrated database that testDatabase clones. */
    templateDatabase: string;
  }
}

/** Once a run: the servers, and the migrated database that tests clone. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const servers = await findServers();
  try {
    project.provide('redisUrl', servers.redisUrl);
    project.provide('databaseUrl', servers.databaseUrl);
    project.provide('templateDatabase', await makeTemplate(servers.databaseUrl));
  } catch (error) {
    await servers.stop();
    throw error;
  }
  return servers.stop;
}
