import { withoutValues } from './failure-of.ts';
import { Prisma } from './generated/client.ts';
import type { Store } from './open-store.ts';
import { insertOfTallies, type Tally } from './tally.ts';

/** The workspaces whose people are invented, and whether there ever was another one. */
export async function findDemo({
  prisma,
}: Store): Promise<{ demo: string | null; fresh: boolean }> {
  const [found] = await prisma.$queryRaw<[{ demo: string | null; fresh: boolean }]>`
    SELECT (SELECT id FROM workspace WHERE demo IS NOT NULL ORDER BY created_at LIMIT 1) AS demo,
      NOT EXISTS (SELECT FROM workspace) AND NOT EXISTS (SELECT FROM removed_workspace) AS fresh`;
  return found;
}

/** Counts posts at moments of the past. Rejects with a StoreError. */
export async function countPast({ prisma }: Store, tallies: readonly Tally[]): Promise<void> {
  if (tallies.length === 0) return;
  try {
    await prisma.$executeRaw`${insertOfTallies(tallies)}`;
  } catch (error) {
    throw withoutValues(error);
  }
}

/** How long the endpoint of a demo that answers nothing has done so: an alarm tells of it. */
const FAILING_HOURS = 40;

/**
 * Ends the filling of a demo: its rows are from when their posts came, and not from when they were made. Rejects
 * with a StoreError.
 */
export async function endDemo(
  { prisma }: Store,
  workspaceId: string,
  failingEndpointId: string | null,
): Promise<void> {
  const id = workspaceId;
  try {
    await prisma.$transaction(async (tx) => {
      await tx.$executeRaw`
        UPDATE submission SET applied_at = to_timestamp("order" / 1e6) + interval '30 ms'
        WHERE workspace_id = ${id}::uuid`;
      await tx.$executeRaw`
        UPDATE lead SET created_at = to_timestamp(sent.first / 1e6),
          updated_at = to_timestamp(sent.last / 1e6)
        FROM (SELECT lead_id, min("order") AS first, max("order") AS last FROM submission
              WHERE workspace_id = ${id}::uuid GROUP BY lead_id) AS sent
        WHERE workspace_id = ${id}::uuid AND lead.id = sent.lead_id`;
      await tx.$executeRaw`
        UPDATE identity SET created_at = lead.created_at FROM lead
        WHERE identity.workspace_id = ${id}::uuid AND lead.workspace_id = ${id}::uuid
          AND lead.id = identity.lead_id`;
      await tx.$executeRaw`
        UPDATE possible_duplicate d SET created_at = greatest(a.created_at, b.created_at)
        FROM lead a, lead b WHERE d.workspace_id = ${id}::uuid
          AND a.workspace_id = ${id}::uuid AND a.id = d.lead_a
          AND b.workspace_id = ${id}::uuid AND b.id = d.lead_b`;
      await tx.$executeRaw`
        UPDATE rejected_submission SET created_at = to_timestamp(stamp / 1e6)
        WHERE workspace_id = ${id}::uuid`;
      await tx.$executeRaw`
        UPDATE held_submission SET created_at = to_timestamp((content->>'stamp')::float8 / 1e6)
        WHERE workspace_id = ${id}::uuid`;
      await tx.$executeRaw`
        UPDATE endpoint SET failing_since = now() - make_interval(hours => ${FAILING_HOURS})
        WHERE id = ${failingEndpointId}::uuid`;
      for (const table of ['capture_link', 'custom_field', 'endpoint'])
        await tx.$executeRaw`
          UPDATE ${Prisma.raw(table)} SET created_at = created_at - interval '15 days'
          WHERE workspace_id = ${id}::uuid`;
      await tx.$executeRaw`
        UPDATE capture_code SET created_at = created_at - interval '15 days'
        WHERE link_id IN (SELECT id FROM capture_link WHERE workspace_id = ${id}::uuid)`;
      await tx.$executeRaw`UPDATE workspace SET demo = 'full' WHERE id = ${id}::uuid`;
    });
  } catch (error) {
    throw withoutValues(error);
  }
}
