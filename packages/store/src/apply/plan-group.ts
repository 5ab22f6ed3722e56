import type { Submission } from '@leadgate/contract';
import type { Identity } from './insert-identities.ts';
import type { PossibleDuplicate } from './insert-possible-duplicates.ts';
import type { NewLead } from './insert-leads.ts';
import { planWorkspace, type Known, type Move, type Route } from './plan-workspace.ts';

/** A Plan of every workspace of a group, as rows. */
export interface GroupPlan {
  routes: Route[];
  newLeads: NewLead[];
  claims: Identity[];
  duplicates: PossibleDuplicate[];
  moved: (Move & { workspaceId: string })[];
}

/** Plans each workspace by itself: leads of two workspaces have nothing in common. Pure. */
export function planGroup(
  submissions: readonly Submission[],
  fresh: ReadonlySet<string>,
  known: ReadonlyMap<string, Known>,
  repetitions: readonly Submission[],
): GroupPlan {
  const group: GroupPlan = {
    routes: [],
    newLeads: [],
    claims: [],
    duplicates: [],
    moved: [],
  };
  for (const [workspaceId, knownHere] of known) {
    const isHere = (submission: Submission) => submission.workspaceId === workspaceId;
    const plan = planWorkspace(
      submissions.filter(isHere),
      fresh,
      knownHere,
      repetitions.filter(isHere),
    );
    group.routes.push(...plan.routes);
    for (const [id, mergedInto] of plan.newLeads)
      group.newLeads.push({ workspaceId, id, mergedInto });
    for (const [key, leadId] of plan.claims) group.claims.push({ workspaceId, key, leadId });
    for (const [a, b] of plan.duplicates) group.duplicates.push({ workspaceId, a, b });
    for (const move of plan.moved) group.moved.push({ workspaceId, ...move });
  }
  return group;
}
