import { leadColumns, type LeadRow } from '../leads.ts';
import type { Statements } from '../statements.ts';

export interface LeadRef {
  workspaceId: string;
  id: string;
}

/**
 * Locks the rows of leads and reads them as they are once locked, whatever was committed before.
 * Always in the order of workspace and id, so that two groups never wait for each other.
 */
export async function lockLeads(tx: Statements, leads: readonly LeadRef[]): Promise<LeadRow[]> {
  if (leads.length === 0) return [];
  return tx.$queryRaw<LeadRow[]>`
    SELECT ${leadColumns}
    FROM lead JOIN unnest(${leads.map((lead) => lead.workspaceId)}::uuid[],
                          ${leads.map((lead) => lead.id)}::uuid[])
      AS wanted (workspace_id, id) USING (workspace_id, id)
    ORDER BY lead.workspace_id, lead.id
    FOR UPDATE OF lead`;
}

/** The order in which rows of leads are made, locked and written, everywhere. */
export function byWorkspaceAndId(a: LeadRef, b: LeadRef): number {
  if (a.workspaceId !== b.workspaceId) return a.workspaceId < b.workspaceId ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
