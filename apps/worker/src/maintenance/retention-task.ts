import { type RedisConnection, redisTime } from '@leadgate/boot';
import {
  databaseTime,
  dropAcceptedBefore,
  dropConsents,
  dueRetention,
  fillConsents,
  keepReads,
  makePartitions,
  retentionDone,
  type RetentionKind,
  type Store,
  sweepChanges,
  tellDefaultDays,
} from '@leadgate/store';
import type { MaintenanceTask } from './maintenance.ts';

const EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** An attempt may hold the workers up for a moment: not one a second. */
const AGAIN_MS = 60_000;

/** Servers that keep time differ by milliseconds. */
const CLOCKS_DIFFER_MS = 5 * 60_000;

const TABLES = ['submission', 'rejected_submission'] as const;

const KINDS = { submission: 'submissions', rejected_submission: 'rejected' } as const;

/** For how many days each table keeps its rows, if a workspace does not say; undefined: for good. */
export type Retention = Record<(typeof TABLES)[number], number | undefined>;

/**
 * Makes the partitions of the months to come, and lets rows go that were accepted longer ago than
 * they are to be kept, as their workspace says or else as `retention` does: once an hour, and a minute after an attempt that failed. The time is Postgres's,
 * never this process's, and nothing goes while Redis's clock says another one.
 */
export function createRetentionTask(
  store: Store,
  redis: RedisConnection,
  retention: Retention,
  readsDays: number,
): MaintenanceTask {
  let next = -Infinity;
  return {
    name: 'partitions and retention',
    async run() {
      if (performance.now() < next) return null;
      next = performance.now() + AGAIN_MS;
      const now = await databaseTime(store);
      const made: string[] = [];
      for (const table of TABLES) made.push(...(await makePartitions(store, table, now)));
      const dropped: string[] = [];
      let droppedRows = await sweepChanges(store);
      await tellDefaultDays(store, retention);
      droppedRows += await keepReads(store, readsDays);
      const heldBack: string[] = [];
      const dueOf = async (kind: RetentionKind) => {
        const { due, notAllowed } = await dueRetention(store, kind, now);
        heldBack.push(...notAllowed.map((workspaceId) => `${kind} of workspace ${workspaceId}`));
        if (due.length > 0) await requireSameTime(redis, now);
        return due;
      };
      for (const table of TABLES) {
        const days = retention[table];
        const due = await dueOf(KINDS[table]);
        if (days !== undefined) await requireSameTime(redis, now);
        const horizon = days === undefined ? null : new Date(now.getTime() - days * DAY_MS);
        const run = await dropAcceptedBefore(store, table, horizon, due);
        if (run.kind === 'not-allowed') throw new NotAllowed(table, run.horizon);
        dropped.push(...run.partitions);
        droppedRows += run.rows;
        await retentionDone(store, KINDS[table], due);
      }
      const consents = await dueOf('consents');
      for (const one of consents) droppedRows += await dropConsents(store, one);
      await retentionDone(store, 'consents', consents);
      if (heldBack.length > 0) throw new HeldBack(heldBack);
      next = performance.now() + EVERY_MS;
      return made.length + dropped.length + droppedRows === 0
        ? null
        : { made, dropped, droppedRows };
    },
  };
}

class NotAllowed extends Error {
  override readonly name = 'RetentionNotAllowed';

  constructor(table: string, horizon: Date) {
    super(
      `rows of ${table} accepted before ${horizon.toISOString()} would go, more than a month beyond ` +
        'the last run: look at the clocks and at the days to keep, then run leadgate retention allow',
    );
  }
}

class HeldBack extends Error {
  override readonly name = 'RetentionNotAllowed';

  constructor(what: readonly string[]) {
    super(
      `more than a month beyond the last run would go of ${what.join(', ')}: look at the clocks and at the ` +
        'days to keep, then run leadgate retention set again',
    );
  }
}

/** Throws unless Redis keeps the time of Postgres. */
export async function requireSameTime(redis: RedisConnection, now: Date): Promise<void> {
  const seconds = Math.round(Math.abs(now.getTime() - (await redisTime(redis))) / 1_000);
  if (seconds * 1_000 > CLOCKS_DIFFER_MS)
    throw new Error(
      `the clocks of Postgres and Redis are ${seconds} seconds apart: nothing is let go until they agree`,
    );
}

/** Records consents of submissions that were stored before there was a table of them: some a round. */
export function createConsentsTask(store: Store): MaintenanceTask {
  let filled = false;
  return {
    name: 'record consents',
    async run() {
      if (filled) return null;
      const submissions = await fillConsents(store);
      filled = submissions === null;
      return submissions === null || submissions === 0 ? null : { submissions };
    },
  };
}
