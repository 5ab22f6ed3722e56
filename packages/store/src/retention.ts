import { keepConsents } from './consents.ts';
import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { deleteInBatches, type Statements } from './statements.ts';

/** The tables that hold what their rows' ids say was received in a month. */
type Partitioned = 'submission' | 'rejected_submission';

/** A worker that is away for less finds its months made. */
const MONTHS_AHEAD = 2;

/** Any number: the workers take turns under it. */
const PARTITIONS_LOCK = 72_707_370;

interface Partition {
  name: string;
  /** Its lowest id, and the lowest above it; null: none is lower. */
  from: string | null;
  to: string;
}

/** The names of the partitions of a table. */
export async function listPartitions(
  db: Pick<Statements, '$queryRaw'>,
  table: Partitioned,
): Promise<string[]> {
  const rows = await db.$queryRaw<{ name: string }[]>`
    SELECT c.relname AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = ${table}::regclass ORDER BY c.relname`;
  return rows.map(({ name }) => name);
}

/**
 * Makes the partitions of a table that are missing up to two months from a moment, and returns their
 * names: months without a gap since the first one that was made, and before it `<table>_past`, where
 * imported rows of earlier times go. The default partition stays for what fits nowhere: a month that
 * was dropped, or one that a sender's clock runs ahead to. Were it full, each new partition would
 * have it searched under a lock.
 *
 * Rejects with a StoreError, of the code 55P03 when the table could not be had for a moment.
 */
export async function makePartitions(
  store: Store,
  table: Partitioned,
  now: Date,
): Promise<string[]> {
  const missing = missingPartitions(table, await listPartitions(store.prisma, table), now);
  for (const partition of missing)
    await withTableLock(store, async (tx) => {
      // Another worker may have made it while this one waited.
      if ((await listPartitions(tx, table)).includes(partition.name)) return;
      const { name, from, to } = partition;
      await tx.$executeRaw`SELECT make_partition(${table}, ${name}, ${from}::uuid, ${to}::uuid)`;
    });
  return missing.map(({ name }) => name);
}

function missingPartitions(table: Partitioned, existing: string[], now: Date): Partition[] {
  const last = monthOf(now) + MONTHS_AHEAD;
  const made = existing.map(monthOfName).filter((month) => month !== null);
  if (made.length > 0) return monthsOf(table, Math.max(...made) + 1, last);
  const first = monthOf(now);
  const past = { name: `${table}_past`, from: null, to: firstIdAt(startOfMonth(first)) };
  return [...(existing.includes(past.name) ? [] : [past]), ...monthsOf(table, first, last)];
}

function monthsOf(table: Partitioned, first: Month, last: Month): Partition[] {
  const months = Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at);
  return months.map((month) => ({
    name: `${table}_${nameOfMonth(month)}`,
    from: firstIdAt(startOfMonth(month)),
    to: firstIdAt(startOfMonth(month + 1)),
  }));
}

/**
 * Runs a transaction that needs a table for itself for a moment. While it waits for those that use
 * the table, all who come later wait behind it: so it gives up soon, to be tried again (a
 * StoreError of the code 55P03), and everything it does is bounded in time. Processes take turns.
 */
async function withTableLock<T>(
  store: Store,
  run: (tx: Prisma.TransactionClient) => Promise<T>,
): Promise<T> {
  try {
    return await store.prisma.$transaction(async (tx) => {
      await tx.$executeRaw`SET LOCAL lock_timeout = '250ms'`;
      await tx.$executeRaw`SET LOCAL statement_timeout = '5s'`;
      await tx.$executeRaw`SELECT pg_advisory_xact_lock(${PARTITIONS_LOCK})`;
      return run(tx);
    });
  } catch (error) {
    throw withoutValues(error);
  }
}

/** A month of UTC, counted from January 1970. */
type Month = number;

export const monthOf = (moment: Date): Month =>
  (moment.getUTCFullYear() - 1970) * 12 + moment.getUTCMonth();

/** The moment that a month begins. */
export const startOfMonth = (month: Month): Date => new Date(Date.UTC(1970, month));

/** `2026_12`, as partitions are named. */
export const nameOfMonth = (month: Month): string =>
  startOfMonth(month).toISOString().slice(0, 7).replace('-', '_');

/** The month that a partition is named after; null for one that is named after none. */
export function monthOfName(partition: string): Month | null {
  const [, year, month] = /_(\d{4})_(0[1-9]|1[0-2])$/.exec(partition) ?? [];
  return year === undefined ? null : (Number(year) - 1970) * 12 + Number(month) - 1;
}

/** The lowest UUIDv7 (RFC 9562) of a moment: they begin with its milliseconds since 1970. */
export function firstIdAt(moment: Date): string {
  const time = moment.getTime().toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}

const DAY_MS = 86_400_000;

/** How far one run may go beyond the last one. More needs the word of an operator. */
const LEAP_MS = 31 * DAY_MS;

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
interface WorkspaceHorizon {
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

/** What a workspace keeps, each for days of its own. */
export const RETENTION_KINDS = ['leads', 'submissions', 'rejected', 'consents'] as const;
export type RetentionKind = (typeof RETENTION_KINDS)[number];

/** For how long a workspace keeps a kind of data. */
export interface RetentionOfKind {
  kind: RetentionKind;
  /** Null: for good. */
  days: number | null;
  /** Who says so: the workspace, the settings of the workers, or nobody. */
  by: 'workspace' | 'installation' | 'nobody';
  /** All of the workspace that is older is gone, as its own days say; null: nothing went by them. */
  horizon: Date | null;
  /** What a run was not allowed: more than a month beyond the last one. */
  wanted: Date | null;
}

const SUBJECTS = { submissions: 'submission', rejected: 'rejected_submission' } as const;

/** What a workspace keeps for how long. */
export async function retentionOf(
  { prisma }: Store,
  workspaceId: string,
): Promise<RetentionOfKind[]> {
  const [own, defaults] = await Promise.all([
    prisma.retentionPolicy.findMany({ where: { workspaceId } }),
    prisma.retention.findMany(),
  ]);
  return RETENTION_KINDS.map((kind) => {
    const policy = own.find((one) => one.kind === kind);
    if (policy !== undefined) {
      const { days, horizon, wanted } = policy;
      return { kind, days, by: 'workspace', horizon, wanted };
    }
    const subject = kind === 'submissions' || kind === 'rejected' ? SUBJECTS[kind] : null;
    const days = defaults.find((one) => one.subject === subject)?.days ?? null;
    const by = days === null ? 'nobody' : 'installation';
    return { kind, days, by, horizon: null, wanted: null };
  });
}

/** Remembers for how long the workers keep what no workspace says, for who asks elsewhere. */
export async function tellDefaultDays(
  { prisma }: Store,
  days: Readonly<Record<string, number | undefined>>,
): Promise<void> {
  for (const [subject, value] of Object.entries(days))
    await prisma.$executeRaw`
      UPDATE retention SET days = ${value ?? null}::int
      WHERE subject = ${subject} AND days IS DISTINCT FROM ${value ?? null}::int`;
}

/**
 * Says for how many days a workspace keeps a kind of data; null: as the installation does. It is the word of
 * an operator: the next run may let go all that is older by then.
 */
export async function setRetention(
  { prisma }: Store,
  { workspaceId, kind, days }: { workspaceId: string; kind: RetentionKind; days: number | null },
): Promise<void> {
  if (days === null) {
    await prisma.retentionPolicy.deleteMany({ where: { workspaceId, kind } });
    return;
  }
  await prisma.$executeRaw`
    INSERT INTO retention_policy (workspace_id, kind, days, allowed)
    VALUES (${workspaceId}::uuid, ${kind}, ${days}, now() - make_interval(days => ${days}))
    ON CONFLICT (workspace_id, kind) DO UPDATE
    SET days = excluded.days, set_at = now(), allowed = excluded.allowed, wanted = NULL`;
}

/** What workspaces say of a kind, and of whom a run would go further than one may. */
interface DueRetention {
  due: (WorkspaceHorizon & { days: number })[];
  /** Workspaces that are held back: `setRetention` allows it. */
  notAllowed: string[];
}

/** Up to when each workspace that says how long lets a kind go. One run goes at most 31 days beyond the last. */
export async function dueRetention(
  { prisma }: Store,
  kind: RetentionKind,
  now: Date,
): Promise<DueRetention> {
  const policies = await prisma.retentionPolicy.findMany({ where: { kind } });
  const due: DueRetention['due'] = [];
  const notAllowed: string[] = [];
  for (const { workspaceId, days, horizon: before, allowed } of policies) {
    const horizon = new Date(now.getTime() - days * DAY_MS);
    const gone = Math.max(allowed?.getTime() ?? 0, before?.getTime() ?? 0);
    const isAllowed = horizon.getTime() <= gone + LEAP_MS;
    if (!isAllowed) {
      notAllowed.push(workspaceId);
      await prisma.retentionPolicy.update({
        where: { workspaceId_kind: { workspaceId, kind } },
        data: { wanted: horizon },
      });
    }
    // Held back it is named all the same: it may keep what the others let go.
    due.push({ workspaceId, days, horizon: isAllowed ? horizon : new Date(gone) });
  }
  return { due, notAllowed };
}

/** Remembers how far runs went. */
export async function retentionDone(
  { prisma }: Store,
  kind: RetentionKind,
  done: readonly WorkspaceHorizon[],
): Promise<void> {
  await prisma.$executeRaw`
    UPDATE retention_policy p
    SET horizon = greatest(p.horizon, done.horizon),
        wanted = CASE WHEN p.wanted > done.horizon THEN p.wanted END
    FROM unnest(${done.map(({ workspaceId }) => workspaceId)}::uuid[],
                ${done.map(({ horizon }) => horizon)}::timestamptz[]) AS done (workspace_id, horizon)
    WHERE p.workspace_id = done.workspace_id AND p.kind = ${kind}`;
}

/** Leads that were last touched before a moment, by a post or a change, and for whom nothing waits in Postgres. */
const untouched = ({ workspaceId, horizon }: WorkspaceHorizon): Prisma.Sql => Prisma.sql`
  FROM lead l
  WHERE l.workspace_id = ${workspaceId}::uuid AND l.merged_into IS NULL
    AND l.erased_order IS NULL AND l.creator_id IS NOT NULL
    AND l.updated_at < ${horizon}::timestamptz
    AND NOT EXISTS (
      SELECT FROM lead own JOIN submission s
        ON s.workspace_id = own.workspace_id AND s.lead_id = own.id
      WHERE own.workspace_id = l.workspace_id AND (own.id = l.id OR own.merged_into = l.id)
        AND s.applied_at >= ${horizon}::timestamptz)
    AND NOT EXISTS (SELECT FROM delivery d WHERE d.workspace_id = l.workspace_id
      AND d.lead_id = l.id AND d.due_at IS NOT NULL)
    AND NOT EXISTS (SELECT FROM held_submission h WHERE h.workspace_id = l.workspace_id
      AND h.state = 'held' AND h.content->>'leadId' = l.id::text)`;

/** Some of the leads that a workspace kept for long enough: their ids, and all that stand for each. */
export async function untouchedLeads(
  { prisma }: Store,
  of: WorkspaceHorizon,
  limit: number,
): Promise<{ leadId: string; aliases: string[] }[]> {
  try {
    return await prisma.$queryRaw`
      SELECT l.id AS "leadId", ARRAY(SELECT own.id::text FROM lead own
        WHERE own.workspace_id = l.workspace_id AND own.merged_into = l.id) AS aliases
      ${untouched(of)} ORDER BY l.updated_at LIMIT ${limit}`;
  } catch (error) {
    throw withoutValues(error);
  }
}

/** Lets go the proofs of people who were erased before a moment. Those of leads that are there stay. */
export async function dropConsents(
  { prisma }: Store,
  { workspaceId, horizon }: WorkspaceHorizon,
): Promise<number> {
  return deleteInBatches(
    (limit) => prisma.$executeRaw`
      DELETE FROM consent WHERE submission_id IN (
        SELECT submission_id FROM consent
        WHERE workspace_id = ${workspaceId}::uuid AND erased_at < ${horizon}::timestamptz
        LIMIT ${limit})`,
  );
}

/** How much of a workspace would go if it kept a kind for so many days, by Postgres's clock. */
export async function previewRetention(
  { prisma }: Store,
  workspaceId: string,
  kind: RetentionKind,
  days: number,
): Promise<{ count: number; before: Date }> {
  const [{ before }] = await prisma.$queryRaw<[{ before: Date }]>`
    SELECT now() - make_interval(days => ${days}) AS before`;
  const own = Prisma.sql`workspace_id = ${workspaceId}::uuid`;
  const rows: Record<RetentionKind, Prisma.Sql> = {
    leads: untouched({ workspaceId, horizon: before }),
    submissions: Prisma.sql`FROM submission WHERE ${own} AND applied_at < ${before}::timestamptz`,
    rejected: Prisma.sql`
      FROM rejected_submission WHERE ${own} AND created_at < ${before}::timestamptz`,
    consents: Prisma.sql`FROM consent WHERE ${own} AND erased_at < ${before}::timestamptz`,
  };
  const [{ count }] = await prisma.$queryRaw<[{ count: number }]>`
    SELECT count(*)::float8 AS count ${rows[kind]}`;
  return { count, before };
}
