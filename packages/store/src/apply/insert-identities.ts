import type { Statements } from '../statements.ts';

export interface Identity {
  workspaceId: string;
  key: string;
  leadId: string;
}

/**
 * Stores identities, in the order of their keys, and tells whether every key is now owned by the
 * lead it was stored for. A key that another lead owns stays with it.
 */
export async function insertIdentities(
  tx: Statements,
  identities: readonly Identity[],
): Promise<boolean> {
  if (identities.length === 0) return true;
  const rows = identities.toSorted(byWorkspaceAndKey);
  const inserted = await tx.$executeRaw`
    INSERT INTO identity (workspace_id, key, lead_id)
    SELECT * FROM unnest(${rows.map((row) => row.workspaceId)}::uuid[],
                         ${rows.map((row) => row.key)}::text[],
                         ${rows.map((row) => row.leadId)}::uuid[])
    ON CONFLICT (workspace_id, key) DO NOTHING`;
  if (inserted === rows.length) return true;
  // Others stored some since the owners were read; a statement of its own sees whose they are.
  const [owned] = await tx.$queryRaw<[{ count: number }]>`
    SELECT count(*)::float8 AS count
    FROM identity JOIN unnest(${rows.map((row) => row.workspaceId)}::uuid[],
                              ${rows.map((row) => row.key)}::text[],
                              ${rows.map((row) => row.leadId)}::uuid[])
      AS wanted (workspace_id, key, lead_id) USING (workspace_id, key, lead_id)`;
  return owned.count === rows.length;
}

function byWorkspaceAndKey(a: Identity, b: Identity): number {
  if (a.workspaceId !== b.workspaceId) return a.workspaceId < b.workspaceId ? -1 : 1;
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
