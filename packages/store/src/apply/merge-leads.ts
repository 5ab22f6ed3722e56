import { joinLeads } from '@leadgate/leads';
import { Prisma } from '../generated/client.ts';
import { type LeadRow, readState } from '../leads.ts';
import type { Store } from '../open-store.ts';
import type { MovedIdentity } from './apply-group.ts';
import { RetryTransaction, type Statements, transact } from '../statements.ts';
import { lockLeads, moveDeliveries, noteChanges, updateLeads } from './lead-rows.ts';

export type Merge =
  /** `moved`: identities that are the kept lead's now. Redis is to follow. */
  | { kind: 'merged'; leadId: string; mergedId: string; moved: MovedIdentity[] }
  /** Both ids stand for this lead already. */
  | { kind: 'one-lead'; leadId: string }
  | { kind: 'unknown-lead'; leadId: string }
  | { kind: 'erased-lead'; leadId: string };

/**
 * Makes one lead of two: `keepId` stays, `otherId` becomes an alias of it. The lead is the join of
 * both histories, as if every submission had been applied to it. Either id may be an alias. Safe
 * beside applyGroup and beside other merges, in any direction.
 *
 * Rejects with a StoreError.
 */
export async function mergeLeads(
  store: Store,
  workspaceId: string,
  keepId: string,
  otherId: string,
): Promise<Merge> {
  return transact(store, async (tx) => {
    const keep = await resolveLead(tx, workspaceId, keepId);
    if (keep === null) return { kind: 'unknown-lead', leadId: keepId };
    const other = await resolveLead(tx, workspaceId, otherId);
    if (other === null) return { kind: 'unknown-lead', leadId: otherId };
    if (keep === other) return { kind: 'one-lead', leadId: keep };

    const rows = await lockLeads(tx, [
      { workspaceId, id: keep },
      { workspaceId, id: other },
    ]);
    // Another merge came first: what the ids stand for now is found anew.
    if (rows.some(({ mergedInto }) => mergedInto !== null)) throw new RetryTransaction();
    const erased = rows.find(({ erasedOrder }) => erasedOrder !== null);
    if (erased !== undefined) return { kind: 'erased-lead', leadId: erased.id };

    const after = rows.map(readState).reduce(joinLeads);
    await moveDeliveries(tx, workspaceId, other, keep);
    await updateLeads(tx, [{ workspaceId, id: keep, after, event: 'lead.merged', linkIds: [] }]);
    await makeAlias(tx, workspaceId, other, keep);
    const moved = await moveIdentities(tx, workspaceId, other, keep);
    return { kind: 'merged', leadId: keep, mergedId: other, moved };
  });
}

async function resolveLead(
  tx: Statements,
  workspaceId: string,
  id: string,
): Promise<string | null> {
  const [row] = await tx.$queryRaw<Pick<LeadRow, 'id'>[]>`
    SELECT coalesce(merged_into, id) AS id FROM lead
    WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid`;
  return row?.id ?? null;
}

/**
 * An alias holds nothing of its own, however it came to be, and no alias points at another: those
 * of the merged lead now point at the kept one.
 */
export async function makeAlias(
  tx: Statements,
  workspaceId: string,
  id: string,
  leadId: string,
): Promise<void> {
  await tx.$executeRaw`
    UPDATE lead SET
      merged_into = ${leadId}::uuid, email = NULL, name = NULL, telephone = NULL, telephone_e164 = NULL,
      document = NULL,
      profession = NULL, city = NULL, state = NULL, instagram = NULL, birthday = NULL,
      address = DEFAULT, provenance = DEFAULT, first_touch = NULL, last_touch = NULL,
      creator_id = NULL, creator_order = NULL, custom_fields = DEFAULT, updated_at = now(),
      -- What is still under way of it is older than its end.
      version = version + 1
    WHERE workspace_id = ${workspaceId}::uuid AND id = ${id}::uuid`;
  await tx.$executeRaw`${noteChanges(Prisma.sql`SELECT ${workspaceId}::uuid AS workspace_id, ${id}::uuid AS id`)}`;
  await tx.$executeRaw`
    UPDATE lead SET merged_into = ${leadId}::uuid, updated_at = now()
    WHERE workspace_id = ${workspaceId}::uuid AND merged_into = ${id}::uuid`;
}

/** Gives what a lead is known by to another, or takes it away. */
export async function moveIdentities(
  tx: Statements,
  workspaceId: string,
  from: string,
  to: string | null,
): Promise<MovedIdentity[]> {
  const change =
    to === null
      ? Prisma.sql`DELETE FROM identity`
      : Prisma.sql`UPDATE identity SET lead_id = ${to}::uuid`;
  const rows = await tx.$queryRaw<{ key: string }[]>`
    ${change} WHERE workspace_id = ${workspaceId}::uuid AND lead_id = ${from}::uuid
    RETURNING key`;
  return rows.map(({ key }) => ({ workspaceId, key, from, to }));
}
