import { Prisma } from '../generated/client.ts';
import type { Statements } from '../statements.ts';

export interface Identity {
  workspaceId: string;
  key: string;
  leadId: string;
}

/**
 * The INSERT of identities, in the order of their keys, to stand in a WITH or by itself: a key that another
 * lead owns stays with it. `areOwned` says whose they are if it stored fewer.
 */
export function insertOfIdentities(identities: readonly Identity[]): Prisma.Sql {
  const rows = identities.toSorted(byWorkspaceAndKey);
  return Prisma.sql`
    INSERT INTO identity (workspace_id, key, lead_id)
    SELECT * FROM unnest(${rows.map((row) => row.workspaceId)}::uuid[],
                         ${rows.map((row) => row.key)}::text[],
                         ${rows.map((row) => row.leadId)}::uuid[])
    ON CONFLICT (workspace_id, key) DO NOTHING
    RETURNING 1`;
}

/** Whether each key is owned by its lead: a statement of its own sees what others committed meanwhile. */
export async function areOwned(tx: Statements, identities: readonly Identity[]): Promise<boolean> {
  const [owned] = await tx.$queryRaw<[{ count: number }]>`
    SELECT count(*)::float8 AS count
    FROM identity JOIN unnest(${identities.map((row) => row.workspaceId)}::uuid[],
                              ${identities.map((row) => row.key)}::text[],
                              ${identities.map((row) => row.leadId)}::uuid[])
      AS wanted (workspace_id, key, lead_id) USING (workspace_id, key, lead_id)`;
  return owned.count === identities.length;
}

function byWorkspaceAndKey(a: Identity, b: Identity): number {
  if (a.workspaceId !== b.workspaceId) return a.workspaceId < b.workspaceId ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

/** Two leads that one submission named at once; `a` is the lower id. */
export interface PossibleDuplicate {
  workspaceId: string;
  a: string;
  b: string;
}

/**
 * Stores pairs that are not there yet. An id may have no row yet and become an alias later: whoever
 * reads the pairs follows aliases and skips those that have come to one lead.
 */
export async function insertPossibleDuplicates(
  tx: Statements,
  pairs: readonly PossibleDuplicate[],
): Promise<void> {
  if (pairs.length === 0) return;
  const rows = pairs.toSorted((one, other) => (sortKey(one) < sortKey(other) ? -1 : 1));
  await tx.$executeRaw`
    INSERT INTO possible_duplicate (workspace_id, lead_a, lead_b)
    SELECT * FROM unnest(${rows.map((row) => row.workspaceId)}::uuid[],
                         ${rows.map((row) => row.a)}::uuid[], ${rows.map((row) => row.b)}::uuid[])
    ON CONFLICT (workspace_id, lead_a, lead_b) DO NOTHING`;
}

function sortKey({ workspaceId, a, b }: PossibleDuplicate): string {
  return `${workspaceId} ${a} ${b}`;
}
