import type { BodyType, Consent } from '@leadgate/contract';
import type { Store } from '../open-store.ts';
import { readConsentRecord, type ConsentRecord } from './consent-record.ts';
import {
  readSubmissionSummary,
  submissionColumns,
  submissionJoins,
  type SubmissionRow,
  type SubmissionSummary,
} from './submission-row.ts';

/** A submission with all that was kept of it. */
export interface SubmissionDetails extends SubmissionSummary {
  /** The lead id it was reserved for. */
  reservedFor: string;
  /** The lead id that was answered, where it is another. */
  answeredLeadId: string | null;
  /** Identity key and the lead that the reservation said owns it. */
  identities: [key: string, owner: string | null][];
  /** Null where it brought none. */
  consent: ConsentRecord | null;
  /** The body as sent. */
  body: string;
  bodyType: BodyType;
  page: string | null;
  userAgent: string | null;
  /** The sender's network address. */
  address: string | null;
  requestId: string | null;
  appliedAt: Date;
}

type DetailsRow = SubmissionRow &
  Omit<SubmissionDetails, keyof SubmissionSummary | 'consent'> & { consent: Consent | null };

/** One submission; null where none of this id has been applied. */
export async function showSubmission(
  store: Store,
  submissionId: string,
): Promise<SubmissionDetails | null> {
  const [row] = await store.prisma.$queryRaw<DetailsRow[]>`
    SELECT ${submissionColumns}, s.lead_id AS "reservedFor",
           s.answered_lead_id AS "answeredLeadId", s.identities, s.consent,
           s.body, s.body_type AS "bodyType",
           s.page, s.user_agent AS "userAgent", s.address, s.request_id AS "requestId",
           s.applied_at AS "appliedAt"
    FROM submission s ${submissionJoins}
    WHERE s.id = ${submissionId}::uuid`;
  if (row === undefined) return null;
  return { ...readSubmissionSummary(row), consent: readConsentRecord(row) };
}
