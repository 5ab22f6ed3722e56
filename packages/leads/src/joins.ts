import {
  ADDRESS_FIELDS,
  type CustomField,
  type CustomValue,
  type FieldPath,
  type Lead,
  LEAD_FIELDS,
  type Submission,
  type Touch,
} from '@leadgate/contract';
import { touchOf } from './values.ts';
import { resolveCustomFields } from './custom-fields.ts';

/** The submission that set a value, and what it won by: the later stamp, then the later order. */
export interface Provenance {
  submissionId: string;
  /** Microseconds since 1970. */
  stamp: number;
  /** Microseconds since 1970, unique in a workspace. */
  order: number;
}

/** The touch of one submission, and which one. */
export interface TouchOfSubmission extends Provenance {
  values: Touch;
}

/**
 * What is known of a lead: the join of every submission applied to it. A new lead is `emptyLead()`.
 * Joining is commutative, associative and idempotent, so neither the order of jobs nor their
 * number matters.
 */
export interface LeadState {
  values: Partial<Record<FieldPath, string>>;
  provenance: Partial<Record<FieldPath, Provenance>>;
  /** The telephone with its country (E.164); null if it is no valid number. */
  telephoneE164: string | null;
  firstTouch: TouchOfSubmission | null;
  lastTouch: TouchOfSubmission | null;
  /** The submission of the lowest order applied: it created the lead, and custom fields are its. */
  creator: { submissionId: string; order: number } | null;
  customFields: Record<string, CustomValue>;
}

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
 * If both have the same creator, the custom fields are those of `b`: they differ only where they
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

/** The submissions of one lead that named one email, in the order they were accepted in. */
export interface Part<S extends Facts> {
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
