import type { FieldPath } from '@leadgate/contract';
import type { LeadState, Provenance, TouchOfSubmission } from './lead-state.ts';

/** A lead of which nothing is known yet: joined with any other, it changes nothing. */
export function emptyLead(): LeadState {
  return {
    values: {},
    provenance: {},
    telephoneE164: null,
    firstTouch: null,
    lastTouch: null,
    creator: null,
    customFields: {},
  };
}

/**
 * What is known of a lead from two histories of it: each field from whichever set it later, the
 * first of the first touches and the last of the last, and creator and custom fields from the
 * history that began earlier. Commutative, associative and idempotent. Neither argument is changed.
 *
 * Where both have the same creator, the custom fields are those of `b`: they differ only where they
 * were resolved under other definitions, and a replay joins the later resolution to the lead.
 */
export function joinLeads(a: LeadState, b: LeadState): LeadState {
  const creator = b.creator !== null && began(b.creator, a.creator) ? b : a;
  return {
    ...joinFields(a, b),
    firstTouch: earlier(a.firstTouch, b.firstTouch),
    lastTouch: later(a.lastTouch, b.lastTouch),
    creator: creator.creator,
    customFields: creator.customFields,
  };
}

function joinFields(
  a: LeadState,
  b: LeadState,
): Pick<LeadState, 'values' | 'provenance' | 'telephoneE164'> {
  let { telephoneE164 } = a;
  const values = { ...a.values };
  const provenance = { ...a.provenance };
  for (const [path, setByB] of Object.entries(b.provenance) as [FieldPath, Provenance][]) {
    const value = b.values[path];
    const setByA = provenance[path];
    if (value === undefined || (setByA !== undefined && compare(setByB, setByA) <= 0)) continue;
    values[path] = value;
    provenance[path] = setByB;
    if (path === 'telephone') telephoneE164 = b.telephoneE164;
  }
  return { values, provenance, telephoneE164 };
}

function earlier(
  a: TouchOfSubmission | null,
  b: TouchOfSubmission | null,
): TouchOfSubmission | null {
  if (a === null || b === null) return a ?? b;
  return compare(b, a) < 0 ? b : a;
}

function later(a: TouchOfSubmission | null, b: TouchOfSubmission | null): TouchOfSubmission | null {
  if (a === null || b === null) return a ?? b;
  return compare(b, a) > 0 ? b : a;
}

function began(a: Creator, b: Creator | null): boolean {
  return (
    b === null || a.order < b.order || (a.order === b.order && a.submissionId <= b.submissionId)
  );
}

type Creator = NonNullable<LeadState['creator']>;

/**
 * By stamp, then by order. Orders are unique in a workspace; should two be equal all the same, the
 * submission id keeps the join the same whichever comes first.
 */
function compare(a: Provenance, b: Provenance): number {
  if (a.stamp !== b.stamp) return a.stamp - b.stamp;
  if (a.order !== b.order) return a.order - b.order;
  return a.submissionId < b.submissionId ? -1 : Number(a.submissionId > b.submissionId);
}
