import type { RedisConnection, Log } from '@leadgate/boot';
import type { RefillSource } from '@leadgate/contract';
import { refillDirectory } from './refill-directory.ts';
import { refillWorkspace } from './refill-workspace.ts';

/**
 * Brings all of Redis that stands before the queue from Postgres: links first, then each workspace.
 * Throws at the first failure; what was refilled by then stays refilled.
 */
export async function refillAll(
  redis: RedisConnection,
  source: RefillSource,
  { logger }: { logger?: Log } = {},
): Promise<{ links: number; workspaces: number; identities: number }> {
  const revision = await source.directoryRevision();
  const links = await refillDirectory(redis, source, revision);
  logger?.info({ links, revision }, 'link directory refilled');
  const workspaceIds = await source.workspaceIds();
  let identities = 0;
  for (const workspaceId of workspaceIds) {
    const found = await refillWorkspace(redis, source, workspaceId);
    logger?.info({ workspaceId, identities: found }, 'workspace refilled');
    identities += found;
  }
  return { links, workspaces: workspaceIds.length, identities };
}
