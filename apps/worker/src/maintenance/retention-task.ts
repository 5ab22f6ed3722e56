import { type RedisConnection, redisTime, type Logger } from '@leadgate/boot';
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
  untouchedLeads,
} from '@leadgate/store';
import type { MaintenanceTask, Lease } from './maintenance.ts';
import { appendErasure, eraseEverywhere } from '@leadgate/operations';
import { leadsInQueue } from '@leadgate/queue';

const EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** An attempt may hold the workers up for a moment: not one a second. */
const AGAIN_MS = 60_000;

/** Servers that keep time differ by milliseconds. */
const CLOCKS_DIFFER_MS = 5 * 60_000;

const TABLES = ['submission', 'rejected_submission'] as const;

const KINDS = { submission: 'submissions', rejected_submission: 'rejected' } as const;

/** For how many days each table keeps its rows, if a workspace does not say; undefined: for good. */
type Retention = Record<(typeof TABLES)[number], number | undefined>;

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
async function requireSameTime(redis: RedisConnection, now: Date): Promise<void> {
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

/** While more are left: what a round costs, others do not wait for. */
const GO_ON_AFTER_MS = 10_000;
const AT_ONCE = 10;
/** More jobs than this are a spike or an outage, and leads that nobody touched for years can wait. */
const MOST_JOBS = 5_000;

/**
 * Erases leads that nobody touched for as long as their workspace keeps them, the same way as a person who asks
 * for it, some at a time, by one worker. Up to the moment that they were kept for, not up to now: what the person
 * sends meanwhile is not dropped, it begins a new lead. None for whom something is in the queue.
 */
export function createUntouchedTask(
  { store, redis }: { store: Store; redis: RedisConnection },
  lease: Lease,
  { ledger, logger }: { ledger: string | undefined; logger: Pick<Logger, 'warn'> },
): MaintenanceTask {
  let next = -Infinity;

  async function eraseSome({ workspaceId, horizon, days }: Due, waits: ReadonlySet<string>) {
    const leads = await untouchedLeads(store, { workspaceId, horizon }, AT_ONCE);
    const free = leads.filter(
      ({ leadId, aliases }) => ![leadId, ...aliases].some((id) => waits.has(id)),
    );
    for (const { leadId } of free)
      await eraseEverywhere(
        { store, redis },
        {
          ...{ workspaceId, leadIds: [leadId], identities: [], offeredLeadId: leadId },
          ...{ order: horizon.getTime() * 1_000, erasedAt: new Date() },
          ...{ erasedBy: 'retention', reason: `retention: untouched for ${days} days` },
        },
        {
          dryRun: false,
          record: async (erasure) => {
            if (ledger !== undefined) await appendErasure(ledger, erasure);
          },
        },
      );
    return { erased: free.length, left: leads.length === AT_ONCE };
  }

  return {
    name: 'retention of leads',
    async run() {
      if (performance.now() < next || !(await lease.hold())) return null;
      next = performance.now() + EVERY_MS;
      const now = await databaseTime(store);
      const { due, notAllowed } = await dueRetention(store, 'leads', now);
      if (due.length === 0) return null;
      if (store.erasureKey === null)
        throw new Error('leads are kept for good before ERASURE_KEY is set');
      await requireSameTime(redis, now);
      const waits = await leadsInQueue(redis, MOST_JOBS);
      if (waits === null) {
        next = performance.now() + GO_ON_AFTER_MS;
        return null;
      }
      let erased = 0;
      for (const one of due) {
        const some = await eraseSome(one, waits);
        erased += some.erased;
        if (some.left) next = performance.now() + GO_ON_AFTER_MS;
        else await retentionDone(store, 'leads', [one]);
      }
      if (notAllowed.length > 0)
        logger.warn(
          { workspaces: notAllowed },
          'leads would go that are more than a month beyond the last run: look at the clocks and at the days to keep, then run leadgate retention set again',
        );
      return erased === 0 ? null : { erased };
    },
  };
}

type Due = Awaited<ReturnType<typeof dueRetention>>['due'][number];
