import type { CustomValue, FieldPath, Touch } from '@leadgate/contract';

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
  /** By custom field id. */
  customFields: Record<string, CustomValue>;
}
