import {
  ADDRESS_FIELDS,
  LEAD_FIELDS,
  type CustomField,
  type FieldPath,
  type Lead,
  type Submission,
} from '@leadgate/contract';
import { touchOf } from './attribution.ts';
import { emptyLead, joinLeads } from './join-leads.ts';
import type { LeadState } from './lead-state.ts';
import { resolveCustomFields } from './custom-fields.ts';

/** What of a submission makes its lead. */
export type Facts = Pick<Submission, 'id' | 'order' | 'stamp' | 'lead' | 'identities'>;

/**
 * What is known of a lead after `submissions`, in whatever order they come, however they are
 * grouped and however often: each is a history of one submission, joined to that of the lead.
 * Applying the creator again resolves its custom fields again, under `fields` as they are now.
 */
export function applySubmissions(
  lead: LeadState,
  submissions: readonly Facts[],
  fields: readonly CustomField[],
): LeadState {
  return submissions.reduce((joined, submission) => {
    // Resolving is most of the work, and only the creator's custom fields are the lead's.
    const mayBeCreator = joined.creator === null || submission.order <= joined.creator.order;
    const history = historyOf(submission, mayBeCreator ? fields : null);
    if (joined.creator?.submissionId === submission.id)
      history.customFields = { ...archivedOf(joined, fields), ...history.customFields };
    return joinLeads(joined, history);
  }, lead);
}

/** What the lead holds of fields that take no new values: a replay of its creator keeps it. */
function archivedOf(
  { customFields }: LeadState,
  fields: readonly CustomField[],
): LeadState['customFields'] {
  const archived = new Set(fields.flatMap(({ id, archived: is }) => (is ? [id] : [])));
  return Object.fromEntries(Object.entries(customFields).filter(([id]) => archived.has(id)));
}

/** A phone that is no valid number has a key of its digits. */
const E164_KEY = 'phone:+';

/** A lead of which one submission is all that is known. Without fields, custom fields are left. */
function historyOf(submission: Facts, fields: readonly CustomField[] | null): LeadState {
  const { id: submissionId, order, stamp, lead, identities } = submission;
  const provenance = { submissionId, stamp, order };
  const history = emptyLead();
  for (const [path, value] of valuesOf(lead)) {
    history.values[path] = value;
    history.provenance[path] = provenance;
  }
  if (lead.telephone !== undefined) {
    const phone = identities.find(({ key }) => key.startsWith(E164_KEY));
    history.telephoneE164 = phone?.key.slice(E164_KEY.length - 1) ?? null;
  }
  const touch = touchOf(lead);
  if (touch !== null) history.firstTouch = history.lastTouch = { ...provenance, values: touch };
  history.creator = { submissionId, order };
  if (fields !== null) history.customFields = resolveCustomFields(lead, fields).values;
  return history;
}

function* valuesOf(lead: Lead): Generator<[FieldPath, string]> {
  for (const field of LEAD_FIELDS) {
    const value = lead[field];
    if (value !== undefined) yield [field, value];
  }
  for (const field of ADDRESS_FIELDS) {
    const value = lead.address?.[field];
    if (value !== undefined) yield [`address.${field}`, value];
  }
}
