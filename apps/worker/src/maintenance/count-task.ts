import type { RedisConnection } from '@leadgate/boot';
import { linkCountStream } from '@leadgate/intake';
import { type AcceptedCount, acceptedStreams } from '@leadgate/queue';
import {
  addUpTallies,
  countEntries,
  dropOldSeries,
  ledgerCursor,
  minuteOf,
  minuteOfTime,
  type Store,
  type Tally,
} from '@leadgate/store';
import type { MaintenanceTask, Lease } from './maintenance.ts';

/** Adding up costs as much for a few counts as for thousands; alarms look at minutes. */
const EVERY_MS = 5_000;
const DROP_EVERY_MS = 3_600_000;
const ENTRIES_AT_ONCE = 500;

/**
 * Brings what was counted in Redis to Postgres, and adds up what was counted there. One worker at a time
 * does it; two at once count nothing twice.
 */
export function createCountTask(
  redis: RedisConnection,
  store: Store,
  lease: Pick<Lease, 'hold'>,
): MaintenanceTask {
  /** By stream, while no other worker counts. */
  const cursors = new Map<string, string>();
  let nextDrop = -Infinity;

  /** Counts all that a stream has; how many entries that was. */
  async function count({ name, read }: Source): Promise<number> {
    for (let all = 0; ;) {
      const from = cursors.get(name) ?? (await ledgerCursor(store, name)).counted;
      const entries = await read(from, ENTRIES_AT_ONCE);
      const to = entries.at(-1)?.entryId;
      if (to === undefined) {
        cursors.set(name, from);
        return all;
      }
      cursors.delete(name);
      const tallies = entries.flatMap((entry) => entry.tallies);
      if (await countEntries(store, { stream: name, from, to }, tallies)) cursors.set(name, to);
      all += entries.length;
    }
  }

  return {
    name: 'counts',
    everyMs: EVERY_MS,
    async run() {
      if (!(await lease.hold())) {
        cursors.clear();
        return null;
      }
      const ofReceivers = linkCountStream(redis);
      if ((await count(receiverSource(ofReceivers))) > 0)
        await ofReceivers.trim(cursors.get(ofReceivers.name) ?? '0');
      // The ledger lets go what it has looked after.
      for (const stream of await acceptedStreams(redis)) await count(acceptedSource(stream));
      while ((await addUpTallies(store)) > 0);
      const now = performance.now();
      if (now < nextDrop) return null;
      nextDrop = now + DROP_EVERY_MS;
      const dropped = await dropOldSeries(store);
      return dropped === 0 ? null : { dropped };
    },
  };
}

/** A stream, as tallies. */
interface Source {
  name: string;
  read: (after: string, limit: number) => Promise<{ entryId: string; tallies: Tally[] }[]>;
}

function receiverSource({ name, read }: ReturnType<typeof linkCountStream>): Source {
  return {
    name,
    read: async (after, limit) =>
      (await read(after, limit)).map(({ entryId, counts }) => ({
        entryId,
        tallies: counts.map((one) => ({ ...one, utm: null })),
      })),
  };
}

function acceptedSource({
  name,
  count,
}: Awaited<ReturnType<typeof acceptedStreams>>[number]): Source {
  return {
    name,
    read: async (after, limit) =>
      (await count(after, limit)).map(({ entryId, counts }) => ({
        entryId,
        tallies: counts.map((one) => tallyOfAccepted(one, Number.parseInt(entryId, 10))),
      })),
  };
}

function tallyOfAccepted(
  { workspaceId, linkId, kind, minute, n }: AcceptedCount,
  enqueuedAt: number,
): Tally {
  const what = kind === 'repeat' ? 'resent' : 'accepted';
  const at = kind === 'import' ? minuteOf(enqueuedAt) : minuteOfTime(minute);
  return { workspaceId, linkId, at, what, utm: null, n };
}
