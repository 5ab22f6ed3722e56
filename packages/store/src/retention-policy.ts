import { Prisma } from './generated/client.ts';
import { withoutValues } from './failure-of.ts';
import type { Store } from './open-store.ts';
import { deleteInBatches, LEAP_MS, type WorkspaceHorizon } from './retention.ts';

/** What a workspace keeps, each for days of its own. */
export const RETENTION_KINDS = ['leads', 'submissions', 'rejected', 'consents'] as const;
export type RetentionKind = (typeof RETENTION_KINDS)[number];

const DAY_MS = 86_400_000;

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
export interface DueRetention {
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
