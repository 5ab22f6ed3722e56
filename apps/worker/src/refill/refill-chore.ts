import type { RedisConnection } from '@leadgate/boot';
import type { RefillSource } from '@leadgate/contract';
import {
  closeOlderWorkspace,
  directoryRevision,
  refillDirectory,
  refillNeeds,
  refillWorkspace,
} from '@leadgate/intake';
import type { Chore } from './caretaker.ts';
import { underLock } from './redis-lock.ts';

const LOCK = 'leadgate:refilling';
const LOCK_MS = 30_000;

/** How often the markers and clocks of all workspaces are looked at, asked for or not. */
const LOOK_AT_ALL_MS = 10_000;

interface Needs {
  /** Postgres's revision of the directory, where Redis does not have it. */
  revision: number | null;
  workspaces: string[];
}

/**
 * Refills what Redis lacks from Postgres: the link directory when it is incomplete or not of
 * Postgres's revision, a workspace when a receiver asked for it, its marker is missing or its clock is
 * older than what Postgres holds. One worker at a time does it; two at once would do no harm.
 */
export function createRefillChore(redis: RedisConnection, source: RefillSource): Chore {
  let lookedAtAll = -Infinity;
  // A Redis that comes back may be another one, or an older one.
  redis.on('ready', () => {
    lookedAtAll = -Infinity;
  });

  async function look(): Promise<Needs> {
    const [wanted, found] = await Promise.all([
      source.directoryRevision(),
      directoryRevision(redis),
    ]);
    const all = found === null || performance.now() - lookedAtAll > LOOK_AT_ALL_MS;
    const looked = all ? await source.workspaceIds() : [];
    for (const id of looked) await closeOlderWorkspace(redis, id, await source.highestOrder(id));
    const { workspaces } = await refillNeeds(redis, looked);
    if (all && workspaces.length === 0) lookedAtAll = performance.now();
    return { revision: found === wanted ? null : wanted, workspaces };
  }

  return {
    name: 'refill',
    async run() {
      if (!isNeeded(await look())) return null;
      return underLock(redis, LOCK, LOCK_MS, async () => {
        // Another worker may have done it while this one looked.
        const needs = await look();
        return isNeeded(needs) ? refill(redis, source, needs) : null;
      });
    },
  };
}

const isNeeded = ({ revision, workspaces }: Needs): boolean =>
  revision !== null || workspaces.length > 0;

/** Throws the first failure once everything was tried, so that one workspace keeps no other waiting. */
async function refill(
  redis: RedisConnection,
  source: RefillSource,
  { revision, workspaces }: Needs,
): Promise<Record<string, unknown>> {
  const failures: unknown[] = [];
  const links =
    revision === null
      ? undefined
      : await refillDirectory(redis, source, revision).catch((error: unknown) => {
          failures.push(error);
        });
  let identities = 0;
  for (const workspaceId of workspaces) {
    try {
      identities += await refillWorkspace(redis, source, workspaceId);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return { links, workspaces: workspaces.length, identities };
}
