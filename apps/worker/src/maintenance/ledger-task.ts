import { redisTime, type Logger, type RedisConnection } from '@leadgate/boot';
import {
  acceptedStreams,
  failedAmong,
  oldestUnfinished,
  type AcceptedStream,
} from '@leadgate/queue';
import {
  ledgerCursor,
  listOpen,
  moveVerified,
  settleOpen,
  type Store,
  unsettled,
} from '@leadgate/store';
import type { MaintenanceTask, Lease } from './maintenance.ts';

const EVERY_MS = 5_000;
const ENTRIES_AT_ONCE = 200;

/** What was put in a moment ago may be on its way from a worker's hands to a job of its own. */
const TURN_MS = 10_000;

/** For so long what was looked after can still be named, should its row go. */
const KEPT_MS = 900_000;

/**
 * Closes the books: looks whether each accepted submission came to an end once its turn in the queue has
 * passed, and keeps those that did not, until they do. One worker at a time does it; two at once do no harm.
 */
export function createLedgerTask(
  redis: RedisConnection,
  store: Store,
  lease: Pick<Lease, 'hold'>,
  logger: Pick<Logger, 'error'>,
  /** Milliseconds since 1970: Redis's, of which entries have their ids, and never this process's. */
  clock: () => Promise<number> | number = () => redisTime(redis),
): MaintenanceTask {
  async function verify(stream: AcceptedStream, passed: number): Promise<number> {
    const { counted, ...cursor } = await ledgerCursor(store, stream.name);
    let { verified } = cursor;
    for (let looked = 0; ;) {
      const entries = await stream.read(verified, ENTRIES_AT_ONCE);
      const done = entries.filter(
        ({ entryId }) => timeOf(entryId) < passed && compare(entryId, counted) <= 0,
      );
      const to = done.at(-1)?.entryId;
      if (to === undefined) return looked;
      // A repeat may name what is dropped for the one that it repeats.
      const accepted = done.flatMap((entry) =>
        entry.accepted.filter(({ kind }) => kind !== 'repeat'),
      );
      const left = await unsettled(
        store,
        accepted.map(({ submissionId: id, workspaceId }) => ({ id, workspaceId })),
      );
      const failed = await failedAmong(redis, left);
      const open = accepted
        .filter(({ submissionId }) => left.has(submissionId))
        .map(({ submissionId: id, workspaceId, linkId }) => {
          const state = failed.has(id) ? ('failed' as const) : ('missing' as const);
          return { id, workspaceId, linkId, state };
        });
      await moveVerified(store, { stream: stream.name, to }, open);
      const missing = open.filter(({ state }) => state === 'missing');
      if (missing.length > 0)
        logger.error(
          { submissionIds: missing.slice(0, 20).map(({ id }) => id), submissions: missing.length },
          'accepted submissions are neither stored nor waiting',
        );
      verified = to;
      looked += accepted.length;
      if (done.length < entries.length || entries.length < ENTRIES_AT_ONCE) return looked;
    }
  }

  async function lookAgain(): Promise<void> {
    const open = await listOpen(store);
    if (open.length === 0) return;
    const left = await unsettled(store, open);
    const failed = await failedAmong(redis, left);
    await settleOpen(
      store,
      open.map(({ id }) => ({
        id,
        state: !left.has(id) ? null : failed.has(id) ? ('failed' as const) : ('missing' as const),
      })),
    );
  }

  return {
    name: 'ledger',
    everyMs: EVERY_MS,
    async run() {
      if (!(await lease.hold())) return null;
      const oldest = await oldestUnfinished(redis);
      const now = await clock();
      const passed = Math.min(oldest ?? Infinity, now) - TURN_MS;
      for (const stream of await acceptedStreams(redis)) {
        await verify(stream, passed);
        const { verified } = await ledgerCursor(store, stream.name);
        await stream.trim(Math.min(timeOf(verified), Math.floor(now) - KEPT_MS).toString());
      }
      await lookAgain();
      return null;
    },
  };
}

const timeOf = (entryId: string): number => Number.parseInt(entryId, 10);

/** By time, then by number. */
function compare(a: string, b: string): number {
  const [timeA = 0, nA = 0] = a.split('-').map(Number);
  const [timeB = 0, nB = 0] = b.split('-').map(Number);
  return timeA - timeB || nA - nB;
}
