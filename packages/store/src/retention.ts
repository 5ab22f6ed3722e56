import { keepConsents } from './consents.ts';
import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import {
  listPartitions,
  monthOfName,
  type Partitioned,
  startOfMonth,
  withTableLock,
} from './partitions.ts';

const DAY_MS = 86_400_000;

/** How far one run may go beyond the last one. More needs the word of an operator. */
export const LEAP_MS = 31 * DAY_MS;

/** Rows a statement: deleting should not hold the table or the log of Postgres for long. */
const BATCH = 5_000;

/** When Postgres took a row, by its own clock. What ids and stamps say is the sender's, or a file's. */
const ACCEPTED: Record<Partitioned, Prisma.Sql> = {
  submission: Prisma.raw('applied_at'),
  rejected_submission: Prisma.raw('created_at'),
};

/** How far a table was emptied. */
export interface RetentionStanding {
  subject: Partitioned;
  /** All that was accepted before it is gone; null: nothing was let go yet. */
  horizon: Date | null;
  /** What the last run was not allowed: all that was accepted before it. Null: it was allowed. */
  wanted: Date | null;
  /** How far an operator lets it go. */
  allowed: Date | null;
}

type RetentionRun =
  | { kind: 'dropped'; partitions: string[]; rows: number }
  /** More than a month beyond the last run, and nothing was let go: `allowRetention` allows it. */
  | { kind: 'not-allowed'; horizon: Date };

/** How far each table was emptied. */
export async function retentionStandings(store: Store): Promise<RetentionStanding[]> {
  const rows = await store.prisma.retention.findMany({ orderBy: { subject: 'desc' } });
  return rows.map(({ subject, horizon, wanted, allowed }) => ({
    ...{ subject: readSubject(subject), horizon, wanted, allowed },
  }));
}

function readSubject(subject: string): Partitioned {
  return subject === 'submission' ? subject : 'rejected_submission';
}

/** Lets the next runs go as far as this moment: the word of an operator. */
export async function allowRetention(
  store: Store,
  subject: Partitioned,
  allowed: Date,
): Promise<void> {
  await store.prisma.retention.update({ where: { subject }, data: { allowed } });
}

/** Up to when what a workspace has goes, if not as far as that of the others. */
export interface WorkspaceHorizon {
  workspaceId: string;
  horizon: Date;
}

/** What is to go of a table: all that was accepted before, by workspace. */
interface Horizons {
  /** Of workspaces that are not named; null: theirs stays. */
  horizon: Date | null;
  workspaces: readonly WorkspaceHorizon[];
}

const latestOf = ({ horizon, workspaces }: Horizons): Date =>
  new Date(Math.max(horizon?.getTime() ?? 0, ...workspaces.map((one) => one.horizon.getTime())));

/** Whether a row goes. The first part bounds what is looked at. */
function goes(table: Partitioned, horizons: Horizons): Prisma.Sql {
  const { horizon, workspaces } = horizons;
  const before = Prisma.sql`${ACCEPTED[table]} < ${latestOf(horizons)}::timestamptz`;
  if (workspaces.length === 0) return before;
  return Prisma.sql`(${before} AND ${ACCEPTED[table]} < coalesce(
    (SELECT own.horizon FROM unnest(${workspaces.map(({ workspaceId }) => workspaceId)}::uuid[],
       ${workspaces.map((one) => one.horizon)}::timestamptz[]) AS own (id, horizon)
     WHERE own.id = workspace_id),
    ${horizon}::timestamptz, '-infinity'))`;
}

/**
 * Lets go what Postgres accepted before a moment, or before those of its workspace: partitions of months that ended before it as a
 * whole, as far as nothing in them was accepted later (a late spool, an import of older rows), and
 * else row by row. One run goes at most 31 days beyond the last one, or what an operator allowed: a
 * wrong clock or setting costs no more than that.
 *
 * Nothing is lost by it: a submission is stored in the transaction that applies it, what waits is in
 * the queue, and what is held is in a table of its own. A job that comes after its submission went,
 * or comes again, changes nothing that is newer: the joins compare stamps and orders, which the lead
 * keeps. Leads, identities, consents and the highest order of each workspace stay.
 *
 * `horizon` null: only what is of workspaces that are named. Rejects with a StoreError, of the code 55P03
 * when the table could not be had for a moment.
 */
export async function dropAcceptedBefore(
  store: Store,
  table: Partitioned,
  horizon: Date | null,
  workspaces: readonly WorkspaceHorizon[] = [],
): Promise<RetentionRun> {
  try {
    if (horizon !== null && !(await isAllowed(store, table, horizon))) {
      await store.prisma.retention.update({
        where: { subject: table },
        data: { wanted: horizon },
      });
      return { kind: 'not-allowed', horizon };
    }
    const dropped = await drop(store, table, { horizon, workspaces });
    if (horizon !== null)
      await store.prisma.$executeRaw`
        UPDATE retention SET horizon = greatest(horizon, ${horizon}::timestamptz), wanted = NULL
        WHERE subject = ${table}`;
    return { kind: 'dropped', ...dropped };
  } catch (error) {
    throw withoutValues(error);
  }
}

/** The first run has none before it: it counts from the oldest row. */
async function isAllowed(store: Store, table: Partitioned, horizon: Date): Promise<boolean> {
  const before = await store.prisma.retention.findUniqueOrThrow({ where: { subject: table } });
  if (before.allowed !== null && horizon <= before.allowed) return true;
  const leap = new Date(horizon.getTime() - LEAP_MS);
  if (before.horizon !== null) return leap <= before.horizon;
  const [row] = await store.prisma.$queryRaw<[{ older: boolean }]>`
    SELECT EXISTS (SELECT FROM ${Prisma.raw(table)}
      WHERE ${ACCEPTED[table]} < ${leap}::timestamptz) AS older`;
  return !row.older;
}

async function drop(
  store: Store,
  table: Partitioned,
  horizons: Horizons,
): Promise<{ partitions: string[]; rows: number }> {
  const partitions: string[] = [];
  let rows = 0;
  const { workspaces } = horizons;
  if (horizons.horizon === null && workspaces.length === 0) return { partitions, rows };
  const latest = latestOf(horizons);
  for (const name of await listPartitions(store.prisma, table)) {
    const month = monthOfName(name);
    const ended = month !== null && startOfMonth(month + 1) <= latest;
    if (table === 'submission') {
      await keepOrders(store, name, latest);
      await keepConsents(store, name, latest);
    }
    if (ended && (await dropOld(store, table, name, horizons))) partitions.push(name);
    // A month that it cuts stays until it ended, but for workspaces that say how long.
    else if (ended || month === null) rows += await deleteOld(store, name, goes(table, horizons));
    else if (workspaces.length > 0)
      rows += await deleteOld(store, name, goes(table, { horizon: null, workspaces }));
  }
  return { partitions, rows };
}

/** Of what is about to go: what Redis is compared with has to stay. */
async function keepOrders(store: Store, partition: string, horizon: Date): Promise<void> {
  await store.prisma.$executeRaw`
    INSERT INTO order_kept (workspace_id, highest)
    SELECT workspace_id, max("order") FROM ${Prisma.raw(partition)}
    WHERE applied_at < ${horizon}::timestamptz GROUP BY workspace_id
    ON CONFLICT (workspace_id) DO UPDATE SET highest = excluded.highest
    WHERE order_kept.highest < excluded.highest`;
}

/**
 * Drops a partition unless something in it stays. It takes the table
 * for itself for as long as the catalogue takes, and the disk is freed after that. (DETACH …
 * CONCURRENTLY, which would not, Postgres refuses where there is a default partition.)
 */
async function dropOld(
  store: Store,
  table: Partitioned,
  partition: string,
  horizons: Horizons,
): Promise<boolean> {
  const name = Prisma.raw(partition);
  const hasLater = async (db: Pick<Store['prisma'], '$queryRaw'>): Promise<boolean> => {
    const [row] = await db.$queryRaw<[{ later: boolean }]>`
      SELECT EXISTS (SELECT FROM ${name} WHERE NOT ${goes(table, horizons)}) AS later`;
    return row.later;
  };
  if (await hasLater(store.prisma)) return false;
  return withTableLock(store, async (tx) => {
    await tx.$executeRaw`LOCK TABLE ONLY ${Prisma.raw(table)} IN ACCESS EXCLUSIVE MODE`;
    // Another worker may have dropped it meanwhile, and a late row may have come.
    if (!(await listPartitions(tx, table)).includes(partition)) return false;
    if (await hasLater(tx)) return false;
    await tx.$executeRaw`SELECT drop_partition(${table}, ${partition})`;
    return true;
  });
}

async function deleteOld(store: Store, partition: string, condition: Prisma.Sql): Promise<number> {
  const name = Prisma.raw(partition);
  return deleteInBatches(
    (limit) => store.prisma.$executeRaw`
      DELETE FROM ${name} WHERE id IN (SELECT id FROM ${name} WHERE ${condition} LIMIT ${limit})`,
  );
}

/** Deletes up to a limit at a time until a time found fewer. Returns how many went. */
export async function deleteInBatches(
  deleteSome: (limit: number) => Promise<number>,
): Promise<number> {
  let all = 0;
  for (;;) {
    const deleted = await deleteSome(BATCH);
    all += deleted;
    if (deleted < BATCH) return all;
  }
}
