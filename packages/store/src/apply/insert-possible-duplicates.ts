import type { Statements } from '../statements.ts';

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
