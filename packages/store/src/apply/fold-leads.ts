import type { CustomField, Submission } from '@leadgate/contract';
import type { ApplySubmissions, LeadState } from '@leadgate/leads';
import { readState, type LeadRow } from './lead-row.ts';
import type { LeadRef } from './lock-leads.ts';
import type { Route } from './plan-workspace.ts';

/** A lead with what its row holds and what it comes to. */
export interface FoldedLead extends LeadRef {
  before: LeadState;
  after: LeadState;
}

/** Joins each lead with the submissions that go to it. Pure. */
export function foldLeads(
  rows: readonly LeadRow[],
  routes: readonly Route[],
  fields: readonly CustomField[],
  rules: { emptyLead: () => LeadState; applySubmissions: ApplySubmissions },
): FoldedLead[] {
  const submissionsOf = byLead(routes);
  return rows.flatMap((row) => {
    const { workspaceId, id } = row;
    const submissions = submissionsOf.get(`${workspaceId} ${id}`);
    if (submissions === undefined) return [];
    const before = row.creatorId === null ? rules.emptyLead() : readState(row);
    const own = fields.filter((field) => field.workspaceId === workspaceId);
    return [{ workspaceId, id, before, after: rules.applySubmissions(before, submissions, own) }];
  });
}

function byLead(routes: readonly Route[]): Map<string, Submission[]> {
  const leads = new Map<string, Submission[]>();
  for (const { submission, leadId } of routes) {
    const lead = `${submission.workspaceId} ${leadId}`;
    const others = leads.get(lead);
    if (others === undefined) leads.set(lead, [submission]);
    else others.push(submission);
  }
  return leads;
}
