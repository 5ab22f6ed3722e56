import type { RedisConnection } from '@leadgate/boot';
import type { LinkChangeSource, RefillSource } from '@leadgate/contract';
import {
  confirmWorkspaces,
  directoryRevision,
  followLinks,
  redisIdentity,
  refillDirectory,
  refillWorkspace,
  requestedWorkspaces,
} from '@leadgate/intake';
import type { MaintenanceTask } from './maintenance.ts';
import type { Lease } from './redis-lock.ts';

/** How often Postgres is asked whether a link changed, by the one worker that asks. */
const ASK_POSTGRES_MS = 1_000;

/**
 * Keeps what Redis holds of Postgres. After a start, a failover or a loss of Redis it compares every
 * workspace with Postgres, confirms those that are whole and refills the others; otherwise those that
 * receivers ask for. The link directory follows Postgres, change by change. One worker at a time does it, and
 * asks Postgres once a second while nothing happens, however many workspaces there are.
 */
export function createRefillTask(
  redis: RedisConnection,
  source: RefillSource & LinkChangeSource,
  lease: Lease,
  clock: () => number = () => performance.now(),
): MaintenanceTask {
  /** The Redis on which every workspace was looked at; null if it may be another one by now. */
  let lookedAt: string | null = null;
  let askedPostgres = -Infinity;

  /** Brings what changed, or else all of it. Returns how much; null if Redis has it, or was not asked. */
  async function followPostgres(
    found: number | null,
  ): Promise<{ links: number } | { changedLinks: number } | null> {
    const now = clock();
    if (found !== null && now - askedPostgres < ASK_POSTGRES_MS) return null;
    askedPostgres = now;
    const wanted = await source.directoryRevision();
    if (wanted === found) return null;
    const changes = found === null ? null : await source.linkChanges(found);
    if (found === null || changes === null)
      return { links: await refillDirectory(redis, source, wanted) };
    const followed = await followLinks(redis, found, changes);
    return followed ? { changedLinks: changes.entries.length } : null;
  }

  return {
    name: 'refill',
    async run() {
      if (!(await lease.hold())) {
        lookedAt = null;
        return null;
      }
      const [identity, requested, found] = await Promise.all([
        redisIdentity(redis),
        requestedWorkspaces(redis),
        directoryRevision(redis),
      ]);
      const failures: unknown[] = [];
      const attempt = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
        try {
          return await work();
        } catch (error) {
          failures.push(error);
          return undefined;
        }
      };

      // Those that are asked for first: someone waits.
      const all = identity !== lookedAt || found === null;
      const ids = new Set(requested);
      if (all) for (const id of await source.workspaceIds()) ids.add(id);
      const compared = await attempt(() => confirmWorkspaces(redis, source, [...ids]));

      const links = await attempt(() => followPostgres(found));

      let identities = 0;
      const incomplete = compared?.incomplete ?? [];
      for (const id of incomplete)
        identities += (await attempt(() => refillWorkspace(redis, source, id))) ?? 0;

      // Once everything was tried, so that one workspace keeps no other waiting.
      if (failures.length > 0) throw failures[0];
      lookedAt = identity;
      const confirmed = compared?.confirmed ?? 0;
      if (!links && confirmed + incomplete.length === 0) return null;
      return { ...links, confirmed, workspaces: incomplete.length, identities };
    },
  };
}
