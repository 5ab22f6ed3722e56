import type { CustomField, FieldPath } from '@leadgate/contract';
import {
  applySubmissions,
  emptyLead,
  type Facts,
  joinLeads,
  type LeadState,
  type Provenance,
  type TouchOfSubmission,
} from './joins.ts';

/** The submissions of one lead that named one email, in the order they were accepted in. */
export interface Part<S extends Facts> {
  /** The key of the email. */
  key: string;
  submissions: S[];
}

/**
 * The submissions of a lead by the email that they name. The first part is that of the oldest; what
 * names no email is in it too, as nothing says whose it is. None if no email is named at all.
 */
export function partsByEmail<S extends Facts>(submissions: readonly S[]): Part<S>[] {
  const parts = new Map<string, Part<S>>();
  const ofNobody: S[] = [];
  for (const submission of submissions.toSorted((a, b) => a.order - b.order)) {
    const key = submission.identities.find((identity) => identity.key.startsWith('email:'))?.key;
    if (key === undefined) ofNobody.push(submission);
    else {
      const part = parts.get(key) ?? { key, submissions: [] };
      part.submissions.push(submission);
      parts.set(key, part);
    }
  }
  const [first, ...others] = parts.values();
  if (first === undefined) return [];
  const own = [...ofNobody, ...first.submissions].toSorted((a, b) => a.order - b.order);
  return [{ ...first, submissions: own }, ...others];
}

/**
 * What a lead is once the submissions of `others` are no longer its own. What was set by those that
 * are not stored any more stays: nothing says that it was another's.
 */
export function leadWithout(
  lead: LeadState,
  { own, others }: Record<'own' | 'others', readonly Facts[]>,
  fields: readonly CustomField[],
): LeadState {
  const gone = new Set(others.map(({ id }) => id));
  const kept = emptyLead();
  for (const [path, provenance] of Object.entries(lead.provenance) as [FieldPath, Provenance][]) {
    if (gone.has(provenance.submissionId)) continue;
    kept.provenance[path] = provenance;
    const value = lead.values[path];
    if (value !== undefined) kept.values[path] = value;
    if (path === 'telephone') kept.telephoneE164 = lead.telephoneE164;
  }
  const touch = (one: TouchOfSubmission | null) =>
    one !== null && gone.has(one.submissionId) ? null : one;
  kept.firstTouch = touch(lead.firstTouch);
  kept.lastTouch = touch(lead.lastTouch);
  if (lead.creator !== null && !gone.has(lead.creator.submissionId)) {
    kept.creator = lead.creator;
    kept.customFields = lead.customFields;
  }
  return joinLeads(applySubmissions(emptyLead(), own, fields), kept);
}
