import type { RedisConnection } from '@leadgate/boot';
import {
  confirmWorkspaces,
  directoryRevision,
  followDirectory,
  type LinkChangeSource,
  redisIdentity,
  type RefillSource,
  refillWorkspace,
  type RemovalSource,
  requestedWorkspaces,
  tellRemoved,
} from '@leadgate/intake';
import type { MaintenanceTask, Lease } from './maintenance.ts';

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
  source: RefillSource & LinkChangeSource & RemovalSource,
  lease: Lease,
  clock: () => number = () => performance.now(),
): MaintenanceTask {
  /** The Redis on which every workspace was looked at; null if it may be another one by now. */
  let lookedAt: string | null = null;
  let askedPostgres = -Infinity;

  /** Returns how much Redis was brought; null if it has it, or Postgres was not asked. */
  async function followPostgres(found: number | null): ReturnType<typeof followDirectory> {
    const now = clock();
    if (found !== null && now - askedPostgres < ASK_POSTGRES_MS) return null;
    askedPostgres = now;
    return followDirectory(redis, source, found);
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

      const removed = requested.length === 0 ? new Set() : await source.removedAmong(requested);
      await tellRemoved(
        redis,
        requested.filter((id) => removed.has(id)),
      );
      // Those that are asked for first: someone waits.
      const all = identity !== lookedAt || found === null;
      const ids = new Set(requested.filter((id) => !removed.has(id)));
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
