import { byWorkspaceAndId, type LeadRef } from './lock-leads.ts';
import type { Statements } from '../statements.ts';

export interface NewLead extends LeadRef {
  /** What the id stands for, if it is an alias. */
  mergedInto: string | null;
}

/**
 * Makes the rows that are missing, empty or as aliases. A row that is there already stays as it is;
 * one that another transaction is making is waited for.
 */
export async function insertLeads(tx: Statements, leads: readonly NewLead[]): Promise<void> {
  if (leads.length === 0) return;
  const rows = leads.toSorted(byWorkspaceAndId);
  await tx.$executeRaw`
    INSERT INTO lead (workspace_id, id, merged_into)
    SELECT * FROM unnest(${rows.map((row) => row.workspaceId)}::uuid[],
                         ${rows.map((row) => row.id)}::uuid[],
                         ${rows.map((row) => row.mergedInto)}::uuid[])
    ON CONFLICT (workspace_id, id) DO NOTHING`;
}
