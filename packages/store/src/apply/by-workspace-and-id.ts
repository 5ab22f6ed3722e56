import type { LeadRef } from './lock-leads.ts';

/** The order in which rows of leads are made, locked and written, everywhere. */
export function byWorkspaceAndId(a: LeadRef, b: LeadRef): number {
  if (a.workspaceId !== b.workspaceId) return a.workspaceId < b.workspaceId ? -1 : 1;
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}
